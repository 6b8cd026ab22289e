// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/engine.h"

#include <array>

#include "api/conversion/engine_implementation.h"
#include "api/model/engine_cache.h"
#include "api/model/model_implementation.h"
#include "api/model/onnx_memory.h"

namespace narrowgauge {

namespace {

constexpr std::array<std::string_view, 5> names{"auto", "f32", "bf16", "f16", "int8"};

}  // namespace

std::string_view name(EnginePrecision precision) {
  return names.at(static_cast<std::size_t>(precision));
}

EnginePrecision parse_engine_precision(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<EnginePrecision>(i);
  throw UsageError(concat("precision '", text, "': expected auto, f32, bf16, f16 or int8"));
}

double ConversionReport::drop() const {
  if (before.accuracy && after.accuracy) return 100 * (*before.accuracy - *after.accuracy);
  return 100 * after.error;
}

Engine::Engine(std::shared_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Engine Engine::open(const std::string& path, CacheUse cache) {
  return Engine(std::shared_ptr<Implementation>(new Implementation{open_engine(path, {}, cache)}));
}

Engine Engine::open(std::span<const std::byte> bytes, const OnnxMemory& memory) {
  return Engine(std::shared_ptr<Implementation>(new Implementation{
      ModelAccess::from_onnx(memory.name, read_onnx(bytes, memory, Mapping::change_copy))}));
}

Engine Engine::clone() const { return Engine(implementation_.pointer()); }

std::vector<NamedTensor> Engine::run(std::span<const NamedTensor> inputs) const {
  return implementation_->model.run(inputs);
}

Tensor Engine::predict(std::span<const Tensor> inputs) const {
  return implementation_->model.predict(inputs);
}

Tensor Engine::predict(const Tensor& input) const { return implementation_->model.predict(input); }

void Engine::predict(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  implementation_->model.predict(inputs, outputs);
}

void Engine::predict(const Tensor& input, Tensor& output) const {
  implementation_->model.predict(input, output);
}

std::vector<ModelPort> Engine::inputs() const { return implementation_->model.inputs(); }
void Engine::set_plan_memory(std::int64_t bytes) { implementation_->model.set_plan_memory(bytes); }

std::vector<ModelPort> Engine::outputs() const { return implementation_->model.outputs(); }

void Engine::save(const std::string& path, CacheUse cache) const {
  implementation_->model.to_onnx(path);
  if (cache == CacheUse::make) make_engine_cache(path);
}

std::vector<std::byte> Engine::save() const { return implementation_->model.to_onnx(); }

const ConversionReport& Engine::report() const { return implementation_->report; }

}  // namespace narrowgauge
