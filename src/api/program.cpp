// SPDX-License-Identifier: Apache-2.0
#include "api/program.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "compile/choose_recomputed.h"

namespace narrowgauge {

struct Program::Compiled {
  Binding binding;
  int threads = 0;  // that its plan works with: no more may run than the caller has
  std::shared_ptr<const Plan> plan;
  std::size_t executors = 0;                    // that may become idle: there is room for them
  std::vector<std::unique_ptr<Executor>> idle;  // the latest last
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
    const Value value = graph_.inputs()[i];
    const TensorType& type = graph_.type(value);
    const Dims dims = known_dims(inputs[i].shape);
    require(dims.size() == type.shape.size() && inputs[i].dtype == type.dtype, "input '",
            graph_.value_name(value), "': expected ", type, ", got ", inputs[i]);
    for (std::size_t axis = 0; axis < dims.size(); ++axis)
      if (!type.shape[axis].is_known()) binding.try_emplace(type.shape[axis].text(), dims[axis]);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph_.type(graph_.inputs()[i]);
    require(narrowgauge::bind(type.shape, binding) == inputs[i].shape, "input '",
            graph_.value_name(graph_.inputs()[i]), "': expected ", type, ", got ", inputs[i]);
  }
  return binding;
}

std::shared_ptr<Program::Compiled> Program::find(const Binding& binding) {
  const int threads = thread_count();
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const auto& each) {
    return each->threads == threads && each->binding == binding;
  });
  if (known == plans_.end()) return nullptr;
  plans_.splice(plans_.begin(), plans_, known);
  return *known;
}

Program::Lease Program::lend(std::shared_ptr<Compiled> compiled) {
  std::unique_ptr<Executor> executor;
  {
    const std::lock_guard lock(mutex_);
    if (!compiled->idle.empty()) {
      executor = std::move(compiled->idle.back());
      compiled->idle.pop_back();
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
  compiled->idle.push_back(std::move(executor));
  std::size_t idle = 0;
  for (const auto& each : plans_) idle += each->idle.size();
  if (idle <= most_idle_) return;
  const auto oldest = std::find_if(plans_.rbegin(), plans_.rend(),
                                   [](const auto& each) { return !each->idle.empty(); });
  surplus = std::move((*oldest)->idle.front());
  (*oldest)->idle.erase((*oldest)->idle.begin());
}

void Program::GiveBack::operator()(Executor* executor) const {
  program->keep(compiled, std::unique_ptr<Executor>(executor));
}

Program::Lease Program::compiled_executor_for(std::span<const Tensor> inputs) {
  auto compiled = find(binding_for(types_of(inputs)));
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

std::shared_ptr<Program::Compiled> Program::add(const Binding& binding, std::int64_t unread) {
  auto compiled = std::make_shared<Compiled>();
  compiled->binding = binding;
  compiled->threads = thread_count();
  compiled->plan = std::make_shared<const Plan>(compile_for(binding, unread));
  const std::lock_guard lock(mutex_);
  plans_.push_front(compiled);
  if (plans_.size() > most_plans) plans_.pop_back();
  return compiled;
}

void Program::prepare(const TensorTypes& inputs, std::int64_t unread) {
  const Binding binding = binding_for(inputs);
  if (!find(binding)) add(binding, unread);
}

Program::Lease Program::executor_for(std::span<const Tensor> inputs) {
  const Binding binding = binding_for(types_of(inputs));
  auto compiled = find(binding);
  return lend(compiled ? std::move(compiled) : add(binding, 0));
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
