// SPDX-License-Identifier: Apache-2.0
// Runs a plan over a store of states.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compile/plan.h"
#include "runtime/not_finite_samples.h"
#include "runtime/state_store.h"

namespace narrowgauge {

struct StepProfile {
  std::string node, op, implementation;
  KernelFacts facts;
  Phase phase = Phase::forward;
  double milliseconds = 0;  // summed over the runs
  Math math = Math::none;
  double flops = 0;  // of one run
  std::int64_t bytes = 0;
  std::string why;
};

// One run of one step of a plan, in milliseconds of the steady clock.
struct StepRun {
  std::size_t step = 0;
  double begin = 0, milliseconds = 0;
};

// Non-zero values of a gradient that became zero in f16, summed over runs.
struct FlushedValue {
  std::string value;
  std::int64_t flushed = 0, elements = 0;
};

struct NotFiniteValue {
  std::string name;
  DType dtype = DType::f32;
};

class Executor {
 public:
  // Adds states that the store lacks; plan and store must outlive the executor. Executors that
  // share both may run at once if the plan changes no state and derived states are fresh.
  Executor(std::shared_ptr<const Plan> plan, StateStore& store, std::uint64_t seed);
  Executor(Plan plan, StateStore& store, std::uint64_t seed);
  ~Executor();
  Executor(Executor&&) = delete;

  // Takes inputs in the plan's order and checks them against its types; returns the outputs in the
  // plan's order. Nothing is read back before the last kernel is done; only the outputs allocate
  // memory.
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::uint64_t step = 0);
  // Runs into tensors that there are already, of the types of the outputs. Throws UsageError, and
  // runs nothing, for other types and for memory that is also that of an input or another output.
  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, std::uint64_t step = 0);
  // Runs into tensors of its own, which hold the outputs until the next run: takes no memory.
  std::span<const Tensor> run_inside(std::span<const Tensor> inputs, std::uint64_t step = 0);

  // The first value of a run that holds an infinity or NaN: an input, a state, or what a step of
  // the forward or backward pass computes, where masks may hold negative infinities in the forward
  // pass. Nothing where all are finite. Runs the plan up to there, and changes no state.
  std::optional<NotFiniteValue> find_not_finite(std::span<const Tensor> inputs, std::uint64_t step);

  // Whether the derived states that the plan reads are fresh, so that a run changes nothing.
  bool is_fresh() const;

  const Plan& plan() const { return *shared_plan_; }
  void enable_profile(bool on, bool keeps_runs = false) {
    profiling_ = on;
    keeps_runs_ = on && keeps_runs;
  }
  void clear_profile();  // drops what was measured
  std::vector<StepProfile> profile() const;
  const std::vector<StepRun>& step_runs() const { return step_runs_; }
  // Copies the operands of a node ahead of each of its runs; "" ends that.
  void watch(std::string_view node);
  const std::vector<Tensor>& watched() const { return watched_; }  // of the latest run
  // The values with at least one flushed element, in the order in which they are computed.
  std::vector<FlushedValue> flushed() const;
  std::int64_t gradient_elements() const;  // f16 gradient values stored so far

 private:
  struct Bound;
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };
  void* pointer(const Location& location) const;
  void bind();
  void bind_packed();
  void* input_part(std::size_t index) const;
  void run_steps(std::uint64_t step);
  void run_step(std::size_t index, const RunContext& context);
  void copy_operands(const PlanStep& step);
  void look_for_not_finite(std::size_t index);
  void take_inputs(std::span<const Tensor> inputs);
  void check_outputs(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  std::vector<Tensor> make_outputs() const;
  void run_parts(std::span<Tensor> outputs, std::uint64_t step);
  std::optional<NotFiniteValue> run_to_not_finite(std::uint64_t step);
  void commit();

  std::shared_ptr<const Plan> shared_plan_;
  const Plan& plan_;
  StateStore& store_;
  std::uint64_t seed_;
  std::vector<Dims> input_dims_, output_dims_;  // of the whole batch
  std::unique_ptr<std::byte, Unmap> arena_;
  std::vector<Tensor> own_outputs_;  // of run_inside(), from its first call on
  std::span<const Tensor> inputs_;
  std::int64_t part_ = 0;  // of the batch, that is computed now
  std::vector<Bound> bound_;
  std::uint64_t bound_moves_ = 0;  // StateStore::packed_moves() at bind_packed()
  std::set<std::string> changed_, own_;
  NotFiniteSamples not_finite_;  // of the run that is under way
  bool profiling_ = false, keeps_runs_ = false;
  std::vector<StepRun> step_runs_;
  std::optional<std::size_t> watches_;  // a step of the plan
  std::vector<Tensor> watched_;
  std::int64_t runs_ = 0;
};

}  // namespace narrowgauge
