// SPDX-License-Identifier: Apache-2.0
// A graph with symbols in its shapes, compiled for each batch size and number of threads it is run
// with. Those used last are kept: each has memory of its own.
#pragma once

#include <list>
#include <memory>
#include <span>

#include "compile/compile.h"
#include "runtime/executor.h"

namespace narrowgauge {

class Program {
 public:
  Program(Graph graph, CompileOptions options, StateStore& store, std::uint64_t seed);

  static constexpr std::size_t most_executors = 4;

  // The executor for inputs of these shapes, valid until the next call. Throws UsageError when they
  // do not fit the graph.
  Executor& executor_for(std::span<const Tensor> inputs);
  Executor* latest();  // nullptr before the first
  const Graph& graph() const { return graph_; }

 private:
  struct Entry {
    Binding binding;
    int threads;  // that its plan works with: no more may run than the caller has
    std::unique_ptr<Executor> executor;
  };
  Binding binding_for(std::span<const Tensor> inputs) const;

  Graph graph_;
  CompileOptions options_;
  StateStore& store_;
  std::uint64_t seed_;
  std::list<Entry> executors_;  // the latest first
};

}  // namespace narrowgauge
