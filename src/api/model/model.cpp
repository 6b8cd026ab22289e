// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/model.h"

#include "api/model/built_network.h"
#include "api/model/model_implementation.h"
#include "api/programs/kernel_cache.h"
#include "base/hash/sha256.h"
#include "base/machine/floating_environment.h"
#include "passes/core/in_f64.h"
#include "passes/training/drop_masters.h"
#include "precision/colouring/follow.h"
#include "precision/colouring/policy.h"
#include "precision/plan_reader.h"
#include "precision/subnormals.h"

namespace narrowgauge {

Graph network_graph(const std::string& name, const BuildNetwork& build, Mode mode) {
  const FloatingEnvironment environment(Subnormals::keep);
  Network network(name, mode);
  const Value predicted = built_prediction(network, build);
  for (const GraphOutput& output : network.outputs())
    network.graph().output(output.name, output.value);
  if (network.graph().outputs().empty()) network.graph().output("prediction", predicted);
  return std::move(network.graph());
}

Graph Model::Implementation::graph(Mode mode) const { return network_graph(name, build, mode); }

PrecisionPlan Model::Implementation::evaluation_plan(const Graph& evaluation_graph) const {
  if (const auto* trained = std::get_if<PrecisionPlan>(&precision)) {
    if (open_shapes) require_same_network(*trained, evaluation_graph);
    return follow(*trained, evaluation_graph);
  }
  return make_precision_plan(evaluation_graph, std::get<PrecisionRequest>(precision));
}

bool Model::Implementation::has_precision_of_nodes() const {
  const auto* request = std::get_if<PrecisionRequest>(&precision);
  return !request || !request->overrides.empty();
}

bool Model::Implementation::is_in_f64(const Precision& given) {
  const auto* request = std::get_if<PrecisionRequest>(&given);
  return request && request->in_f64;
}

Graph Model::Implementation::with_masters(const Graph& evaluation_graph) const {
  PrecisionPlan plan = evaluation_plan(evaluation_graph);
  plan.master_weights = true;
  return apply(evaluation_graph, plan);
}

std::unique_ptr<Program> Model::Implementation::program(const Graph& evaluation_graph,
                                                        CompileOptions options,
                                                        std::uint64_t run_seed) {
  options.subnormals =
      std::visit([](const auto& chosen) { return subnormals_of(chosen.f32_math); }, precision);
  Graph computed = is_in_f64() ? in_f64(evaluation_graph, InputsInF64::kept)
                               : drop_masters(with_masters(evaluation_graph), store.kept_formats(),
                                              WeightRounding::nearest);
  return std::make_unique<Program>(std::move(computed), std::move(options), store, run_seed);
}

void Model::Implementation::set_precision(Precision wanted) {
  if (is_in_f64(wanted) == is_in_f64()) return adopt(std::move(wanted));
  StateStore converted = store;
  converted.convert_weights(is_in_f64(wanted) ? DType::f64 : DType::f32);
  store = std::move(converted);
  adopt(std::move(wanted));
}

void Model::Implementation::adopt(Precision wanted) noexcept {
  precision = std::move(wanted);
  precision_of_file = false;
  ++precisions;
  prediction.reset();
  if (open_shapes) open_shapes->forget();
}

void Model::Implementation::adopt_of_file(std::optional<Precision> wanted) noexcept {
  if (!wanted) return;
  const bool is_plan = std::holds_alternative<PrecisionPlan>(*wanted);
  adopt(*std::move(wanted));
  precision_of_file = is_plan;
}

Program& Model::Implementation::prediction_program() {
  if (!prediction) {
    CompileOptions options;
    options.kernels = cache ? &cache->kernels() : kernel_cache();
    options.packed = cache;
    options.in_parts = true;
    prediction = program(graph(Mode::evaluate), std::move(options), seed);
    prediction->set_plan_memory(plan_memory);
  }
  return *prediction;
}

void Model::Implementation::run(FunctionRef<Program*()> known, FunctionRef<Program&()> made,
                                std::span<const Tensor> given, FunctionRef<void(Executor&)> use) {
  {
    const std::shared_lock reading(in_use);
    Program* const program = known();
    const Program::Lease executor = program ? program->compiled_executor_for(given) : nullptr;
    if (executor && executor->is_fresh()) return use(*executor);
  }
  const std::lock_guard alone(in_use);
  use(*made().executor_for(given));
  if (cache) cache->save();
}

std::vector<Tensor> Model::Implementation::run(FunctionRef<Program*()> known,
                                               FunctionRef<Program&()> made,
                                               std::span<const Tensor> given) {
  std::vector<Tensor> results;
  run(known, made, given, [&](Executor& executor) { results = executor.run(given); });
  return results;
}

void Model::Implementation::predict(std::span<const Tensor> given,
                                    FunctionRef<void(Executor&)> use) {
  run([&] { return prediction.get(); }, [&]() -> Program& { return prediction_program(); }, given,
      use);
}

std::vector<Tensor> Model::Implementation::predict(std::span<const Tensor> given) {
  std::vector<Tensor> results;
  predict(given, [&](Executor& executor) { results = executor.run(given); });
  return results;
}

Model::Model(std::string name, BuildNetwork build, std::uint64_t seed)
    : implementation_(std::make_shared<Implementation>()) {
  implementation_->name = std::move(name);
  implementation_->build = std::move(build);
  implementation_->seed = seed;
  const Graph graph = implementation_->graph(Mode::evaluate);
  implementation_->store.add(graph, seed);
  implementation_->inputs = input_ports(graph);
  implementation_->outputs = output_ports(graph);
}

Model::Model(std::shared_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

const std::string& Model::name() const { return implementation_->name; }
Graph Model::graph(Mode mode) const { return implementation_->graph(mode); }

Tensor Model::predict(const Tensor& input) { return predict(std::span(&input, 1)); }

Tensor Model::predict(std::span<const Tensor> inputs) {
  return implementation_->predict(inputs).at(0);
}

void Model::predict(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  implementation_->predict(inputs, [&](Executor& executor) { executor.run(inputs, outputs); });
}

void Model::predict(const Tensor& input, Tensor& output) {
  predict(std::span(&input, 1), std::span(&output, 1));
}

void Model::set_precision(PrecisionRequest wanted) {
  check(wanted);
  const std::lock_guard alone(implementation_->in_use);
  implementation_->set_precision(std::move(wanted));
}

void Model::set_plan(PrecisionPlan plan) {
  const std::lock_guard alone(implementation_->in_use);
  if (implementation_->open_shapes) return implementation_->set_precision(std::move(plan));
  const Graph graph = implementation_->graph(Mode::evaluate);
  require_same_network(plan, graph);
  implementation_->set_precision(follow(plan, graph));
}

void Model::set_plan_memory(std::int64_t bytes) {
  require(bytes >= 0, "plan memory: expected bytes from 0 up, got ", bytes);
  implementation_->plan_memory->most_bytes = bytes;
}

std::vector<std::string> Model::Implementation::state_names() const {
  std::vector<std::string> names;
  for (const auto& [state, entry] : store.entries())
    if (is_saved(entry.role)) names.push_back(state);
  return names;
}

std::string Model::Implementation::sha256() const {
  Sha256 hash;
  for (const std::string& state : state_names()) {
    const Tensor value = store.declared(state);
    hash.update(std::as_bytes(std::span(state)));
    hash.update(std::span(value.data(), static_cast<std::size_t>(value.bytes())));
  }
  return hash.hex();
}

std::vector<std::string> Model::state_names() const {
  const std::shared_lock reading(implementation_->in_use);
  return implementation_->state_names();
}

Tensor Model::state(std::string_view state) const {
  const std::shared_lock reading(implementation_->in_use);
  return implementation_->store.declared(state).clone();
}

void Model::set_state(std::string_view state, const Tensor& value) {
  const std::lock_guard alone(implementation_->in_use);
  implementation_->store.set(state, value);
}

std::string Model::sha256() const {
  const std::shared_lock reading(implementation_->in_use);
  return implementation_->sha256();
}

}  // namespace narrowgauge
