// SPDX-License-Identifier: Apache-2.0
// Turns a graph into a plan.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "compile/kernel_memory.h"
#include "compile/plan.h"
#include "passes/layout/assign_layout.h"

namespace narrowgauge {

struct CompileOptions {
  Binding binding{};
  Target target = Target::machine();
  bool runs = true;  // false: kernels are asked and not made ready; the plan is for reading
  bool deterministic = false;
  // With a target without fast math they are kept in any case.
  Subnormals subnormals = Subnormals::flush;
  bool fuse = true;
  bool normalize_again = true;  // in the backward pass, rather than keep it; only with `fuse`
  bool in_parts = false;        // a large batch is computed part by part where samples do not meet
  std::vector<std::string> recompute{};  // nodes that the backward pass runs again, as compiled
  Layout layout = Layout::fastest;
  KernelMemory* kernels = nullptr;         // nullptr: the first kernel that takes a node runs
  std::shared_ptr<PackedMemory> packed{};  // nullptr: the plan packs all that its kernels want
  // Called with the text of each pass's effect: "== name (ms)" and a diff, or "(unchanged)".
  std::function<void(const std::string&)> trace{};
};

// Runs the passes in the order of pipeline.cpp, verifying after each.
Graph run_pipeline(const Graph& graph, const CompileOptions& options);

// Runs the pipeline and plans. Throws UsageError if shapes are unbound or no kernel takes a node.
Plan compile(const Graph& graph, const CompileOptions& options);

// Chooses kernels and memory for a graph that has been through the pipeline.
Plan make_plan(Graph graph, const CompileOptions& options);

}  // namespace narrowgauge
