// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>

#include "base/files/memory.h"
#include "kernels/cpu/convert/keep_subnormals.h"
#include "ops/reference.h"
#include "passes/core/operands.h"
#include "runtime/held_states.h"
#include "tensor/values.h"

namespace narrowgauge {

// A step with its pointers; those to inputs are set in each run.
struct Executor::Bound {
  std::vector<View> inputs, outputs;
  std::vector<std::int64_t> flushed;
  std::vector<std::size_t> feeds;  // operands that lie in the caller's inputs
  const std::byte* packed = nullptr;
  double milliseconds = 0;
};

namespace {

// The sizes of a whole batch, from the type of a part.
Dims batch_dims(const TensorType& type, std::int64_t parts) {
  Dims dims = known_dims(type.shape);
  if (parts > 1) dims.at(0) *= parts;
  return dims;
}

bool overlap(const Tensor& a, const Tensor& b) {
  const std::less<const std::byte*> before;
  return before(a.data(), b.data() + b.bytes()) && before(b.data(), a.data() + a.bytes());
}

}  // namespace

Executor::Executor(Plan plan, StateStore& store, std::uint64_t seed)
    : Executor(std::make_shared<const Plan>(std::move(plan)), store, seed) {}

Executor::Executor(std::shared_ptr<const Plan> plan, StateStore& store, std::uint64_t seed)
    : shared_plan_(std::move(plan)), plan_(*shared_plan_), store_(store), seed_(seed) {
  store_.add(plan_, seed);
  for (const TensorType& type : plan_.inputs) input_dims_.push_back(batch_dims(type, plan_.parts));
  for (const PlanOutput& output : plan_.outputs)
    output_dims_.push_back(batch_dims(output.type, plan_.parts));
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(plan_.arena_bytes, 64));
  const MemoryNeed need{concat("the plan of graph '", plan_.graph.name(), "'"),
                        {{"", plan_.arena_bytes}}};
  require_memory(need);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) refuse_memory(need, obtainable_memory());
  madvise(memory, bytes, MADV_HUGEPAGE);
  arena_ = {static_cast<std::byte*>(memory), {bytes}};
  for (const PlanState& state : plan_.states) {
    own_.insert(state.state.name);
    if (state.changes) changed_.insert(state.state.name);
  }
  for (const PlanPacking& packing : plan_.packings)
    if (!packing.states.empty()) own_.insert(packing.name);
  bind();
}

Executor::~Executor() = default;

void Executor::Unmap::operator()(std::byte* memory) const { munmap(memory, bytes); }

void* Executor::input_part(std::size_t index) const {
  const Tensor& input = inputs_[index];
  return const_cast<std::byte*>(input.data()) + part_ * (input.bytes() / plan_.parts);
}

void* Executor::pointer(const Location& location) const {
  const auto index = static_cast<std::size_t>(location.index);
  switch (location.kind) {
    case Location::Kind::none:
      return nullptr;
    case Location::Kind::arena:
      return arena_.get() + location.index;
    case Location::Kind::input:
      return inputs_.empty() ? nullptr : input_part(index);
    case Location::Kind::state:
      return store_.at(plan_.states[index].state.name).data();
    case Location::Kind::constant:
      return const_cast<std::byte*>(plan_.constants[index].data());
  }
  return nullptr;
}

void Executor::bind() {
  for (const PlanStep& step : plan_.steps) {
    Bound bound;
    bool counts = false;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      bound.inputs.push_back({pointer(step.inputs[k])});
      if (step.inputs[k].kind == Location::Kind::input) bound.feeds.push_back(k);
    }
    for (const PlanOutput& output : step.outputs) {
      bound.outputs.push_back({pointer(output.location)});
      counts = counts || output.counts_flushed;
    }
    if (counts) bound.flushed.resize(step.outputs.size());
    bound_.push_back(std::move(bound));
  }
  bind_packed();
}

void Executor::bind_packed() {
  for (std::size_t s = 0; s < bound_.size(); ++s) {
    if (!plan_.steps[s].packing) continue;
    const PlanPacking& packing = plan_.packings[*plan_.steps[s].packing];
    bound_[s].packed =
        packing.states.empty() ? packing.made.get() : store_.packed(packing.name).get();
  }
  bound_moves_ = store_.packed_moves();
}

void Executor::run_step(std::size_t index, const RunContext& context) {
  const PlanStep& step = plan_.steps[index];
  Bound& bound = bound_[index];
  for (const std::size_t k : bound.feeds) bound.inputs[k].data = pointer(step.inputs[k]);
  if (watches_ == index) copy_operands(step);
  if (!step.run) return;
  look_for_not_finite(index);
  std::optional<cpu::KeepSubnormals> keep;
  if (step.subnormals != plan_.subnormals) keep.emplace();
  const KernelCall call{bound.inputs,  bound.outputs, arena_.get() + step.workspace,
                        bound.flushed, context,       bound.packed};
  if (!profiling_) {
    step.run(call);
    return;
  }
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const auto start = std::chrono::steady_clock::now();
  step.run(call);
  const double passed = Milliseconds(std::chrono::steady_clock::now() - start).count();
  bound.milliseconds += passed;
  if (keeps_runs_)
    step_runs_.push_back({index, Milliseconds(start.time_since_epoch()).count(), passed});
}

void Executor::look_for_not_finite(std::size_t index) {
  for (const QuantizedInput& value : plan_.steps[index].quantized) {
    const bool is_input = plan_.steps[index].inputs[value.input].kind == Location::Kind::input;
    not_finite_.look_at(
        value, bound_[index].inputs[value.input].data,
        is_input ? NotFiniteSamples::Infinities::all : NotFiniteSamples::Infinities::positive,
        part_);
  }
}

void Executor::watch(std::string_view node) {
  watches_.reset();
  if (node.empty()) return;
  for (std::size_t s = 0; s < plan_.steps.size(); ++s)
    if (plan_.steps[s].node == node) watches_ = s;
}

void Executor::copy_operands(const PlanStep& step) {
  const auto& nodes = plan_.graph.nodes();
  const auto node = std::ranges::find(nodes, step.node, &Node::full_name);
  NG_INVARIANT(node != nodes.end() && node->inputs.size() == step.inputs.size());
  std::vector<Tensor> copies;
  for (std::size_t k = 0; k < step.inputs.size(); ++k) {
    const TensorType& type = plan_.graph.type(node->inputs[k]);
    Tensor copy(type.dtype, known_dims(type.shape));
    std::copy_n(static_cast<const std::byte*>(pointer(step.inputs[k])), copy.bytes(), copy.data());
    copies.push_back(std::move(copy));
  }
  watched_ = std::move(copies);
}

bool Executor::is_fresh() const { return store_.is_fresh(own_); }

void Executor::commit() {
  const auto copy = [](void* to, const void* from, std::int64_t bytes) {
    std::copy_n(static_cast<const std::byte*>(from), bytes, static_cast<std::byte*>(to));
  };
  for (const PlanState& state : plan_.states)
    if (state.staging.kind != Location::Kind::none)
      copy(pointer(state.staging), pointer(state.next), state.bytes);
  for (const PlanState& state : plan_.states) {
    const bool staged = state.staging.kind != Location::Kind::none;
    if (state.next.kind != Location::Kind::none)
      copy(store_.at(state.state.name).data(), pointer(staged ? state.staging : state.next),
           state.bytes);
  }
  if (!changed_.empty()) store_.touch(changed_, own_);
}

void Executor::take_inputs(std::span<const Tensor> inputs) {
  require(inputs.size() == plan_.inputs.size(), "graph '", plan_.graph.name(), "': takes ",
          plan_.inputs.size(), " inputs, got ", inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const DType dtype = plan_.inputs[i].dtype;
    require(inputs[i].dtype() == dtype && inputs[i].dims() == input_dims_[i], "graph '",
            plan_.graph.name(), "': input '", plan_.input_names[i], "' is ", dtype, input_dims_[i],
            ", got ", inputs[i].dtype(), inputs[i].dims());
  }
  inputs_ = inputs;
  store_.refresh_derived(own_);
  if (bound_moves_ != store_.packed_moves()) bind_packed();
  const bool batched = !inputs.empty() && !inputs[0].dims().empty();
  const std::int64_t samples = batched ? inputs[0].dims()[0] : 1;
  not_finite_.begin(samples, samples / plan_.parts);
}

void Executor::run_steps(std::uint64_t step) {
  // Once steps change states nothing may fail.
  if (profiling_ && keeps_runs_ && step_runs_.capacity() < step_runs_.size() + bound_.size())
    step_runs_.reserve(2 * step_runs_.size() + bound_.size());
  for (std::size_t s = 0; s < bound_.size(); ++s) run_step(s, {seed_, step});
}

std::vector<Tensor> Executor::make_outputs() const {
  std::vector<Tensor> made;
  for (std::size_t o = 0; o < output_dims_.size(); ++o)
    made.emplace_back(plan_.outputs[o].type.dtype, output_dims_[o]);
  return made;
}

std::vector<Tensor> Executor::run(std::span<const Tensor> inputs, std::uint64_t step) {
  const FloatingEnvironment environment(plan_.subnormals);
  take_inputs(inputs);
  std::vector<Tensor> results = make_outputs();
  run_parts(results, step);
  return results;
}

std::span<const Tensor> Executor::run_inside(std::span<const Tensor> inputs, std::uint64_t step) {
  const FloatingEnvironment environment(plan_.subnormals);
  take_inputs(inputs);
  if (own_outputs_.empty()) own_outputs_ = make_outputs();
  run_parts(own_outputs_, step);
  return own_outputs_;
}

void Executor::run(std::span<const Tensor> inputs, std::span<Tensor> outputs, std::uint64_t step) {
  const FloatingEnvironment environment(plan_.subnormals);
  check_outputs(inputs, outputs);
  take_inputs(inputs);
  run_parts(outputs, step);
}

// Parts of a batch are read after others are written, and an output may be an input as it is.
void Executor::check_outputs(std::span<const Tensor> inputs,
                             std::span<const Tensor> outputs) const {
  const auto& given = plan_.graph.outputs();
  require(outputs.size() == output_dims_.size(), "graph '", plan_.graph.name(), "': has ",
          output_dims_.size(), " outputs, got memory for ", outputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const DType dtype = plan_.outputs[o].type.dtype;
    require(outputs[o].dtype() == dtype && outputs[o].dims() == output_dims_[o], "graph '",
            plan_.graph.name(), "': output '", given[o].name, "' is ", dtype, output_dims_[o],
            ", got memory for ", outputs[o].dtype(), outputs[o].dims());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      require(!overlap(outputs[o], inputs[i]), "graph '", plan_.graph.name(), "': output '",
              given[o].name, "' was given memory of input '", plan_.input_names[i], "'");
    for (std::size_t other = 0; other < o; ++other)
      require(!overlap(outputs[o], outputs[other]), "graph '", plan_.graph.name(), "': outputs '",
              given[other].name, "' and '", given[o].name, "' were given the same memory");
  }
}

void Executor::run_parts(std::span<Tensor> outputs, std::uint64_t step) {
  for (part_ = 0; part_ < plan_.parts; ++part_) {
    run_steps(step);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const auto* const value = static_cast<const std::byte*>(pointer(plan_.outputs[o].location));
      const std::int64_t bytes = outputs[o].bytes() / plan_.parts;
      std::copy_n(value, bytes, outputs[o].data() + part_ * bytes);
    }
  }
  part_ = 0;
  not_finite_.put_into(outputs);
  commit();
  ++runs_;
  inputs_ = {};
}

namespace {

// Masks hold negative infinities in the forward pass.
bool counts_as_finite(double number, Phase phase) {
  return std::isfinite(number) || (phase == Phase::forward && number == -HUGE_VAL);
}

bool is_finite(const Tensor& value, Phase phase) {
  if (!is_floating(value.dtype())) return true;
  for (std::int64_t i = 0; i < value.size(); ++i)
    if (!counts_as_finite(value.at(i), phase)) return false;
  return true;
}

// Reads the elements alone: what lies between them in blocks may be anything.
bool is_finite(const Operand& operand, const void* data, Phase phase) {
  if (!data || !is_floating(operand.dtype)) return true;
  for (std::int64_t i = 0; i < element_count(operand.dims); ++i)
    if (!counts_as_finite(load_element(operand.dtype, data, offset_of(operand, i)), phase))
      return false;
  return true;
}

}  // namespace

std::optional<NotFiniteValue> Executor::run_to_not_finite(std::uint64_t step) {
  std::map<std::string, int> nodes;
  for (int n = 0; n < static_cast<int>(plan_.graph.nodes().size()); ++n)
    nodes[plan_.graph.node(n).full_name()] = n;
  for (std::size_t s = 0; s < bound_.size(); ++s) {
    const PlanStep& run = plan_.steps[s];
    if (run.phase == Phase::update) continue;
    run_step(s, {seed_, step});
    for (std::size_t o = 0; o < run.outputs.size(); ++o) {
      const PlanOutput& output = run.outputs[o];
      const Value value{nodes.at(run.node), static_cast<int>(o)};
      if (!is_finite(operand_of(plan_.graph, value), pointer(output.location), run.phase))
        return {{output.value, output.type.dtype}};
    }
  }
  return std::nullopt;
}

std::optional<NotFiniteValue> Executor::find_not_finite(std::span<const Tensor> inputs,
                                                        std::uint64_t step) {
  const FloatingEnvironment environment(plan_.subnormals);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!is_finite(inputs[i], Phase::forward)) return {{plan_.input_names[i], inputs[i].dtype()}};
  for (const PlanState& state : plan_.states) {
    const Tensor& value = store_.at(state.state.name);
    if (!is_finite(value, Phase::forward)) return {{state.state.name, value.dtype()}};
  }
  std::map<std::string, KeptState> before;  // states that are computed in place
  for (const PlanStep& each : plan_.steps)
    for (const PlanOutput& output : each.outputs)
      if (each.phase != Phase::update && output.location.kind == Location::Kind::state) {
        const std::string& name =
            plan_.states[static_cast<std::size_t>(output.location.index)].state.name;
        before.try_emplace(name, store_, name);
      }
  take_inputs(inputs);
  std::optional<NotFiniteValue> found;
  for (part_ = 0; part_ < plan_.parts && !found; ++part_) found = run_to_not_finite(step);
  part_ = 0;
  inputs_ = {};
  return found;
}

void Executor::clear_profile() {
  for (Bound& bound : bound_) bound.milliseconds = 0;
  step_runs_.clear();
}

std::vector<StepProfile> Executor::profile() const {
  std::vector<StepProfile> rows;
  for (std::size_t s = 0; s < bound_.size(); ++s) {
    const PlanStep& step = plan_.steps[s];
    rows.push_back({step.node, step.op, step.implementation, step.facts, step.phase,
                    bound_[s].milliseconds, step.math, step.flops, step.bytes, step.why});
  }
  return rows;
}

std::vector<FlushedValue> Executor::flushed() const {
  std::vector<FlushedValue> found;
  for (std::size_t s = 0; s < bound_.size(); ++s)
    for (std::size_t o = 0; o < bound_[s].flushed.size(); ++o) {
      const PlanOutput& output = plan_.steps[s].outputs[o];
      if (output.counts_flushed && bound_[s].flushed[o] > 0)
        found.push_back({output.value, bound_[s].flushed[o],
                         runs_ * element_count(known_dims(output.type.shape))});
    }
  return found;
}

std::int64_t Executor::gradient_elements() const {
  std::int64_t total = 0;
  for (const PlanStep& step : plan_.steps)
    for (const PlanOutput& output : step.outputs)
      if (output.counts_flushed && output.location.kind != Location::Kind::none)
        total += element_count(known_dims(output.type.shape));
  return total * runs_;
}

}  // namespace narrowgauge
