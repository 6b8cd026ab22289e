// SPDX-License-Identifier: Apache-2.0
// A graph with symbols in its shapes, compiled for each batch size it is run with. The sizes used
// last are kept: each has memory of its own.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <utility>

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
  Binding binding_for(std::span<const Tensor> inputs) const;

  Graph graph_;
  CompileOptions options_;
  StateStore& store_;
  std::uint64_t seed_;
  std::list<std::pair<Binding, std::unique_ptr<Executor>>> executors_;  // the latest first
};

}  // namespace narrowgauge
