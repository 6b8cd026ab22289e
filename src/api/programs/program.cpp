// SPDX-License-Identifier: Apache-2.0
#include "api/programs/program.h"

#include <algorithm>
#include <utility>

#include "api/programs/refused_input.h"
#include "base/files/memory.h"
#include "base/log.h"
#include "base/threads/parallel.h"
#include "compile/choose_recomputed.h"
#include "ir/attributes.h"

namespace narrowgauge {

struct Program::Compiled {
  PlanKey key;  // no more threads may run than the caller has
  std::shared_ptr<const Plan> plan;
  std::int64_t bytes = 0;                         // of the plan
  std::size_t executors = 0;                      // that may become idle: there is room for them
  std::vector<std::unique_ptr<Executor>> idle{};  // the latest last
};

Program::Program(Graph graph, CompileOptions options, StateStore& store, std::uint64_t seed,
                 Recompute recompute)
    : graph_(std::move(graph)),
      options_(std::move(options)),
      store_(store),
      seed_(seed),
      recompute_(recompute) {}

Program::~Program() = default;

std::size_t Program::most_idle() {
  constexpr std::size_t least = 4;
  return std::max(least, static_cast<std::size_t>(hardware_threads()));
}

namespace {

TensorTypes types_of(std::span<const Tensor> tensors) {
  TensorTypes types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

}  // namespace

Binding Program::binding_for(const TensorTypes& inputs) const {
  require(inputs.size() == graph_.inputs().size(), "graph '", graph_.name(), "': takes ",
          graph_.inputs().size(), " inputs, got ", inputs.size());
  Binding binding;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph_.type(graph_.inputs()[i]);
    const Dims dims = known_dims(inputs[i].shape);
    if (dims.size() != type.shape.size() || inputs[i].dtype != type.dtype)
      refuse_input(graph_, inputs, i);
    for (std::size_t axis = 0; axis < dims.size(); ++axis)
      if (!type.shape[axis].is_known()) binding.try_emplace(type.shape[axis].text(), dims[axis]);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (narrowgauge::bind(graph_.type(graph_.inputs()[i]).shape, binding) != inputs[i].shape)
      refuse_input(graph_, inputs, i);
  return binding;
}

std::vector<Dims> Program::dims_for(const Binding& binding) const {
  std::vector<Dims> dims;
  for (const Value input : graph_.inputs())
    dims.push_back(known_dims(narrowgauge::bind(graph_.type(input).shape, binding)));
  return dims;
}

std::shared_ptr<Program::Compiled> Program::find(const auto& key) {
  const std::lock_guard lock(mutex_);
  const auto known = places_.find(key);
  if (known == places_.end()) return nullptr;
  plans_.splice(plans_.begin(), plans_, known->second);
  return plans_.front();
}

// Finds what was compiled for such inputs, or nullptr. Runs in every prediction and step, and takes
// no memory.
std::shared_ptr<Program::Compiled> Program::find_for(std::span<const Tensor> inputs) {
  if (inputs.size() != graph_.inputs().size()) return nullptr;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].dtype() != graph_.type(graph_.inputs()[i]).dtype) return nullptr;
  return find(GivenInputs{inputs, thread_count()});
}

Program::Lease Program::lend(std::shared_ptr<Compiled> compiled) {
  std::unique_ptr<Executor> executor;
  {
    const std::lock_guard lock(mutex_);
    if (!compiled->idle.empty()) {
      executor = std::move(compiled->idle.back());
      compiled->idle.pop_back();
      --idle_;
    } else {
      compiled->idle.reserve(++compiled->executors);
    }
  }
  if (!executor) executor = std::make_unique<Executor>(compiled->plan, store_, seed_);
  return Lease(executor.release(), {this, std::move(compiled)});
}

// Called from a destructor: takes no memory.
void Program::keep(const std::shared_ptr<Compiled>& compiled, std::unique_ptr<Executor> executor) {
  std::unique_ptr<Executor> surplus;  // ends after the lock
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(compiled->key);
  if (place == places_.end() || *place->second != compiled) {
    surplus = std::move(executor);  // its plan was dropped while it ran
    return;
  }
  compiled->idle.push_back(std::move(executor));
  if (++idle_ <= most_idle_) return;
  const auto oldest = std::find_if(plans_.rbegin(), plans_.rend(),
                                   [](const auto& each) { return !each->idle.empty(); });
  surplus = std::move((*oldest)->idle.front());
  (*oldest)->idle.erase((*oldest)->idle.begin());
  --idle_;
}

std::int64_t Program::plan_bytes() {
  const std::lock_guard lock(mutex_);
  return plan_bytes_;
}

void Program::GiveBack::operator()(Executor* executor) const {
  program->keep(compiled, std::unique_ptr<Executor>(executor));
}

Program::Lease Program::compiled_executor_for(std::span<const Tensor> inputs) {
  auto compiled = find_for(inputs);
  return compiled ? lend(std::move(compiled)) : Lease();
}

// Workspaces and alignment are known only when a plan is made, so that it may take a few.
Plan Program::compile_to_fit(CompileOptions& options, Batches batches) const {
  Plan plan = compile(graph_, options);
  auto lacking = memory_lacking(plan, store_, batches);
  if (recompute_ == Recompute::off || !lacking) return plan;
  const Graph whole = plan.graph;
  const std::int64_t bytes = plan.value_bytes;
  constexpr int most_compilations = 4;
  for (int i = 0; lacking && i < most_compilations; ++i) {
    const std::int64_t spare = bytes / 16;  // a little less may be free when it runs
    options.recompute = choose_recomputed(whole, options, plan.value_bytes - *lacking - spare);
    Plan smaller = compile(graph_, options);
    if (smaller.value_bytes >= plan.value_bytes) break;
    plan = std::move(smaller);
    plan.recomputation.saved_bytes = bytes - plan.value_bytes;
    lacking = memory_lacking(plan, store_, batches);
  }
  return plan;
}

namespace {

// The first size of the first input, where it is open; else "".
std::string batch_symbol(const Graph& graph) {
  if (graph.inputs().empty()) return "";
  const Shape& shape = graph.type(graph.inputs()[0]).shape;
  return shape.empty() || shape[0].is_known() ? "" : shape[0].text();
}

}  // namespace

// No kernels are measured with a batch that may not fit: that could take minutes.
Plan Program::compile_for(const Binding& binding, std::int64_t unread) const {
  CompileOptions options = options_;
  options.binding = binding;
  options.target = Target::machine();  // threads and switches as they are now
  CompileOptions unmeasured = options;
  unmeasured.kernels = nullptr;
  unmeasured.trace = nullptr;
  const std::string symbol = batch_symbol(graph_);
  const auto plan_for = [&](std::int64_t size) {  // computes the same again as the plan refused
    CompileOptions other = unmeasured;
    other.binding[symbol] = size;
    return compile(graph_, other);
  };
  const auto batch = binding.find(symbol);
  const Batches batches{batch == binding.end() ? 0 : batch->second, unread};
  if (options_.kernels && too_little_for(bytes_of_values(graph_, binding)))
    require_memory(compile_to_fit(unmeasured, batches), store_, batches, plan_for);
  Plan plan = compile_to_fit(options, batches);
  unmeasured.recompute = options.recompute;
  require_memory(plan, store_, batches, plan_for);
  const std::string again = recomputation_text(plan, batches);
  if (!again.empty()) log(LogLevel::info, again);
  return plan;
}

namespace {

std::int64_t bytes_of_graph(const Graph& graph);

std::int64_t bytes_of_node(const Node& node) {
  // The bytes of strings, lists and what is allocated for them, as measured on networks of several
  // kinds.
  constexpr std::int64_t of_node = 1500, of_output = 250;
  std::int64_t bytes = of_node + of_output * std::ssize(node.outputs);
  for (const Region& region : regions_of(node))
    if (region) bytes += bytes_of_graph(*region);
  return bytes;
}

std::int64_t bytes_of_graph(const Graph& graph) {
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes()) bytes += bytes_of_node(node);
  return bytes;
}

// About how many bytes a plan holds for itself.
std::int64_t bytes_of_plan(const Plan& plan, const Graph& source) {
  std::int64_t bytes = bytes_of_graph(plan.graph);
  std::set<const std::byte*> shared;  // with the graph that it was made from
  for (const Node& node : source.nodes())
    if (node.is<Constant>()) shared.insert(node.as<Constant>().value.data());
  for (const Tensor& constant : plan.constants)
    if (!shared.contains(constant.data())) bytes += constant.bytes();
  for (const PlanPacking& packing : plan.packings)
    if (packing.made) bytes += packing.packing.bytes;
  return bytes;
}

}  // namespace

std::shared_ptr<Program::Compiled> Program::add(const Binding& binding, std::int64_t unread) {
  auto compiled = std::make_shared<Compiled>();
  compiled->key = {dims_for(binding), thread_count()};
  compiled->plan = std::make_shared<const Plan>(compile_for(binding, unread));
  compiled->bytes = bytes_of_plan(*compiled->plan, graph_);
  Plans surplus;  // ends after the lock
  Plans added{compiled};
  const std::lock_guard lock(mutex_);
  places_[compiled->key] = added.begin();
  plans_.splice(plans_.begin(), added);
  plan_bytes_ += compiled->bytes;
  while (plans_.size() > least_plans && plan_bytes_ > memory_->most_bytes) {
    surplus.splice(surplus.end(), plans_, std::prev(plans_.end()));
    const Compiled& dropped = *surplus.back();
    places_.erase(dropped.key);
    plan_bytes_ -= dropped.bytes;
    idle_ -= dropped.idle.size();
  }
  return compiled;
}

void Program::prepare(const TensorTypes& inputs, std::int64_t unread) {
  const Binding binding = binding_for(inputs);
  if (!find(PlanKey{dims_for(binding), thread_count()})) add(binding, unread);
}

Program::Lease Program::executor_for(std::span<const Tensor> inputs) {
  auto compiled = find_for(inputs);
  return lend(compiled ? std::move(compiled) : add(binding_for(types_of(inputs)), 0));
}

std::set<std::string> Program::states() {
  const std::lock_guard lock(mutex_);
  std::set<std::string> names;
  for (const auto& each : plans_) {
    for (const PlanState& state : each->plan->states) names.insert(state.state.name);
    for (const PlanPacking& packing : each->plan->packings) names.insert(packing.name);
  }
  return names;
}

Executor* Program::latest() {
  const std::lock_guard lock(mutex_);
  if (plans_.empty() || plans_.front()->idle.empty()) return nullptr;
  return plans_.front()->idle.back().get();
}

}  // namespace narrowgauge
