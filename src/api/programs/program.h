// SPDX-License-Identifier: Apache-2.0
// A graph with symbols in its shapes, compiled for each batch size and number of threads it runs
// with. The plans used last are kept and shared; each caller that runs one gets its own executor.
// So many are kept in any case, and more as long as they take no more memory than they may.
#pragma once

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "api/programs/memory_check.h"
#include "compile/compile.h"
#include "narrowgauge/model.h"
#include "runtime/executor.h"

namespace narrowgauge {

// How many bytes the plans of each program of a model may take.
struct PlanMemory {
  static constexpr std::int64_t usual_bytes = std::int64_t{256} << 20;
  std::atomic<std::int64_t> most_bytes = usual_bytes;
};

class Program {
  struct Compiled;
  using Plans = std::list<std::shared_ptr<Compiled>>;
  // The shapes of inputs and the number of threads that a plan is for, as the plan has them or as
  // they are given.
  struct PlanKey {
    std::vector<Dims> inputs;
    int threads = 0;
  };
  struct GivenInputs {
    std::span<const Tensor> inputs;
    int threads = 0;
  };
  struct ByShapes {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      const auto before = [](const auto& x, const auto& y) { return dims_of(x) < dims_of(y); };
      return a.threads == b.threads
                 ? std::ranges::lexicographical_compare(a.inputs, b.inputs, before)
                 : a.threads < b.threads;
    }
    static const Dims& dims_of(const Dims& dims) { return dims; }
    static const Dims& dims_of(const Tensor& tensor) { return tensor.dims(); }
  };

 public:
  Program(Graph graph, CompileOptions options, StateStore& store, std::uint64_t seed,
          Recompute recompute = Recompute::off);
  ~Program();

  static constexpr std::size_t least_plans = 32;
  // How many idle executors keep their memory, those of the plans used last.
  static std::size_t most_idle();
  // Sets how much memory the plans may take if they are more than least_plans, from the next one
  // on.
  void set_plan_memory(std::shared_ptr<const PlanMemory> memory) { memory_ = std::move(memory); }
  std::int64_t plan_bytes();  // of those that are kept, about

  struct GiveBack {
    Program* program = nullptr;
    std::shared_ptr<Compiled> compiled{};
    void operator()(Executor* executor) const;
  };
  // An executor lent to one holder; it goes back to the program, which must live longer.
  using Lease = std::unique_ptr<Executor, GiveBack>;

  // Compiles for inputs of these types, before a loader reads them from so many samples. Throws
  // OutOfMemoryError if the plan cannot run beside them. Nothing else may use the store meanwhile.
  void prepare(const TensorTypes& inputs, std::int64_t unread);
  // An executor for inputs of these shapes. Throws UsageError when they do not fit the graph. May
  // compile, which adds to the store: nothing else may use it meanwhile.
  Lease executor_for(std::span<const Tensor> inputs);
  // An executor as executor_for() gives it, but nothing if no plan is compiled yet. Any number of
  // threads may ask.
  Lease compiled_executor_for(std::span<const Tensor> inputs);
  // The executor that ran last; nullptr before the first run, or while it is lent.
  Executor* latest();
  const Graph& graph() const { return graph_; }
  // The states that its plans read.
  std::set<std::string> states();

 private:
  Binding binding_for(const TensorTypes& inputs) const;
  Plan compile_for(const Binding& binding, std::int64_t unread) const;
  // Where memory does not suffice, adds to the options what is computed again, as far as that
  // helps.
  Plan compile_to_fit(CompileOptions& options, Batches batches) const;
  std::shared_ptr<Compiled> add(const Binding& binding, std::int64_t unread);
  std::vector<Dims> dims_for(const Binding& binding) const;  // of the inputs
  std::shared_ptr<Compiled> find_for(std::span<const Tensor> inputs);
  std::shared_ptr<Compiled> find(const auto& key);
  Lease lend(std::shared_ptr<Compiled> compiled);
  void keep(const std::shared_ptr<Compiled>& compiled, std::unique_ptr<Executor> executor);

  Graph graph_;
  CompileOptions options_;
  StateStore& store_;
  std::uint64_t seed_;
  Recompute recompute_;
  std::shared_ptr<const PlanMemory> memory_ = std::make_shared<PlanMemory>();
  std::size_t most_idle_ = most_idle();
  std::mutex mutex_;  // guards what follows
  Plans plans_{};     // the latest first
  std::map<PlanKey, Plans::iterator, ByShapes> places_{};
  std::int64_t plan_bytes_ = 0;
  std::size_t idle_ = 0;  // executors of plans_
};

}  // namespace narrowgauge
