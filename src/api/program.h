// SPDX-License-Identifier: Apache-2.0
// A graph with symbols in its shapes, compiled for each batch size it is run with.
#pragma once

#include <map>
#include <memory>
#include <span>

#include "compile/compile.h"
#include "runtime/executor.h"

namespace narrowgauge {

class Program {
 public:
  Program(Graph graph, CompileOptions options, StateStore& store, std::uint64_t seed);

  // The executor for inputs of these shapes. Throws UsageError when they do not fit the graph.
  Executor& executor_for(std::span<const Tensor> inputs);
  Executor* latest() { return latest_; }  // nullptr before the first
  const Graph& graph() const { return graph_; }

 private:
  Binding binding_for(std::span<const Tensor> inputs) const;

  Graph graph_;
  CompileOptions options_;
  StateStore& store_;
  std::uint64_t seed_;
  std::map<Binding, std::unique_ptr<Executor>> executors_;
  Executor* latest_ = nullptr;
};

}  // namespace narrowgauge
