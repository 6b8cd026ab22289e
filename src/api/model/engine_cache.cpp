// SPDX-License-Identifier: Apache-2.0
#include "api/model/engine_cache.h"

#include <filesystem>
#include <utility>

#include "api/model/model_implementation.h"
#include "base/environment.h"
#include "base/log.h"
#include "io/onnx/read.h"

namespace narrowgauge {

std::string engine_cache_path(const std::string& engine) { return engine + ".cache"; }

EngineCache::EngineCache(const std::string& engine)
    : engine_(engine), path_(engine_cache_path(engine)), kernels_(kernel_cache()) {}

EngineCache::EngineCache(const std::string& engine, CacheUse use) : EngineCache(engine) {
  is_to_be_made_ = grows_ = use == CacheUse::make;
  std::error_code ignored;
  if (use == CacheUse::off || !std::filesystem::exists(path_, ignored)) return;
  try {
    EngineCacheContent content = read_engine_cache(path_, machine_text(), file_digest(engine_));
    read_kernels_ = content.kernels.size();
    kernels_.set_records(std::move(content.kernels));
    for (PackedBlock& block : content.packed) mapped_[block.key] = std::move(block.bytes);
    is_to_be_made_ = false;
  } catch (const DataError& error) {
    log(LogLevel::warning, concat(error.what(), "; it is made anew"));
    is_to_be_made_ = true;
  }
}

PackedBytes EngineCache::find(const PackedKey& key) {
  const std::lock_guard lock(mutex_);
  const auto mapped = mapped_.find(key);
  if (mapped != mapped_.end()) return mapped->second;
  const auto made = made_.find(key);
  return made == made_.end() ? nullptr : made->second.lock();
}

void EngineCache::keep(const PackedKey& key, const PackedBytes& packed) {
  const std::lock_guard lock(mutex_);
  std::erase_if(made_, [](const auto& each) { return each.second.expired(); });
  made_[key] = packed;
}

EngineCacheContent EngineCache::content() const {
  EngineCacheContent content;
  content.kernels = kernels_.records();
  std::erase_if(content.kernels, [](const auto& entry) { return !entry.second.lasting; });
  for (const auto& [key, packed] : mapped_) content.packed.push_back({key, packed});
  for (const auto& [key, packed] : made_)
    if (PackedBytes bytes = packed.lock()) content.packed.push_back({key, std::move(bytes)});
  return content;
}

bool EngineCache::lacks(const EngineCacheContent& content) const {
  return content.packed.size() > mapped_.size() || content.kernels.size() > read_kernels_;
}

void EngineCache::save() {
  const std::lock_guard lock(mutex_);
  if (!is_to_be_made_ && !grows_) return;
  EngineCacheContent wanted = content();
  if (is_to_be_made_ || lacks(wanted)) try {
      wanted.engine = file_digest(engine_);
      write_engine_cache(path_, machine_text(), wanted);
    } catch (const DataError& error) {
      is_to_be_made_ = grows_ = false;
      log(LogLevel::warning,
          concat(error.what(), "; weights are packed anew whenever the engine is opened"));
    }
  is_to_be_made_ = grows_ = false;
}

namespace {

bool is_switched_off() { return environment("ENGINE_CACHE") == "off"; }

void attach(Model& model, std::shared_ptr<EngineCache> cache) {
  Model::Implementation& inside = ModelAccess::of(model);
  if (!inside.open_shapes) inside.cache = std::move(cache);
}

// Zeros for all inputs, of a batch of 1; nothing where other sizes are open.
std::vector<NamedTensor> zeros_for(const std::vector<ModelPort>& ports) {
  std::vector<NamedTensor> zeros;
  Binding binding;
  for (const ModelPort& port : ports) {
    if (!port.type) return {};
    Shape shape = port.type->shape;
    if (zeros.empty() && !shape.empty() && !shape[0].is_known()) binding[shape[0].text()] = 1;
    shape = narrowgauge::bind(shape, binding);
    if (!is_known(shape)) return {};
    zeros.push_back({port.name, Tensor(port.type->dtype, known_dims(shape))});
  }
  return zeros;
}

}  // namespace

Model open_engine(const std::string& engine, const KnownInputs& known, CacheUse use) {
  if (use == CacheUse::off || is_switched_off()) return Model::from_onnx(engine, known);
  Model model =
      ModelAccess::from_onnx(engine, onnx::read_model(engine, Mapping::change_copy), known);
  attach(model, std::make_shared<EngineCache>(engine, use));
  return model;
}

void make_engine_cache(const std::string& engine) {
  std::error_code ignored;
  if (is_switched_off() || !std::filesystem::is_regular_file(engine, ignored)) return;
  try {
    Model model = Model::from_onnx(engine);
    const std::vector<NamedTensor> zeros = zeros_for(model.inputs());
    if (zeros.empty()) return;
    attach(model, std::make_shared<EngineCache>(engine));
    model.run(zeros);
  } catch (const std::exception& error) {
    log(LogLevel::warning, concat(engine_cache_path(engine), ": is not made: ", error.what()));
  }
}

}  // namespace narrowgauge
