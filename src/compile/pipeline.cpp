// SPDX-License-Identifier: Apache-2.0
// The passes of compilation, in order.
#include <chrono>
#include <set>
#include <sstream>

#include "compile/batch_parts.h"
#include "compile/compile.h"
#include "passes/fusion/form_groups.h"
#include "passes/fusion/fuse_elementwise.h"
#include "passes/fusion/fuse_tails.h"
#include "passes/quantized/fuse_quantized.h"
#include "passes/shapes/bind_shapes.h"
#include "passes/shapes/reshape_last.h"
#include "passes/simplify/attention_in_parts.h"
#include "passes/simplify/decompose.h"
#include "passes/simplify/drop_identities.h"
#include "passes/simplify/fold_constants.h"
#include "passes/simplify/fold_normalizations.h"
#include "passes/simplify/merge_duplicates.h"
#include "passes/simplify/merge_scans.h"
#include "passes/simplify/remove_dead_code.h"
#include "passes/training/hoist_derived_state.h"
#include "passes/training/hoist_state_functions.h"
#include "passes/training/normalize_again.h"
#include "passes/training/recompute.h"

namespace narrowgauge {

namespace {

struct Pass {
  std::string_view name;
  Stage stage;  // the graph is legal for it afterwards
  std::function<Graph(const Graph&)> run;
};

std::vector<Pass> pipeline(const CompileOptions& options) {
  const auto for_target = [&](Graph (*pass)(const Graph&, const Target&)) {
    return [&options, pass](const Graph& graph) { return pass(graph, options.target); };
  };
  std::vector<Pass> passes{
      // Before shapes are bound, so that plans for other shapes read the same derived states.
      {"hoist_state_functions", Stage::precise, hoist_state_functions},
      {"bind_shapes", Stage::precise,
       [&](const Graph& graph) { return bind_shapes(graph, options.binding); }},
      {"attention_in_parts", Stage::precise, for_target(attention_in_parts)},
      {"decompose", Stage::precise, decompose},
      {"fold_constants", Stage::precise, fold_constants},
      {"merge_duplicates", Stage::precise, merge_duplicates},
      {"hoist_state_functions", Stage::precise, hoist_state_functions},  // what ops are made of
      {"merge_scans", Stage::precise, merge_scans},
      {"hoist_derived_state", Stage::precise, hoist_derived_state},
      {"remove_dead_code", Stage::precise, remove_dead_code},
      {"assign_layout", Stage::laid_out,
       [&](const Graph& graph) { return assign_layout(graph, options.layout, options.target); }}};
  if (options.fuse) {
    // First, so that what they make of states is hoisted.
    passes.insert(passes.begin(), {{"fold_normalizations", Stage::precise, fold_normalizations},
                                   {"reshape_last", Stage::precise, reshape_last},
                                   {"fuse_quantized", Stage::precise, fuse_quantized}});
    if (options.normalize_again)
      passes.push_back({"normalize_again", Stage::laid_out, for_target(normalize_again)});
    passes.push_back({"form_groups", Stage::laid_out, for_target(form_groups)});
    passes.push_back({"fuse_tails", Stage::laid_out, for_target(fuse_tails)});
    passes.push_back({"fuse_elementwise", Stage::laid_out, for_target(fuse_elementwise)});
  }
  passes.insert(passes.begin(), {"drop_identities", Stage::precise, drop_identities});
  if (!options.recompute.empty())
    passes.push_back(
        {"recompute", Stage::laid_out, [&](const Graph& graph) {
           const std::set<std::string> names(options.recompute.begin(), options.recompute.end());
           return recompute(graph,
                            [&](const Node& node) { return names.contains(node.full_name()); });
         }});
  return passes;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  in.exceptions(std::ios::badbit);  // as where memory ends
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

// The lines removed and added, in order; a node is one line, so this reads as a diff.
std::string difference(const std::string& before, const std::string& after) {
  const auto old_lines = lines_of(before), new_lines = lines_of(after);
  const std::set<std::string> old_set(old_lines.begin(), old_lines.end());
  const std::set<std::string> new_set(new_lines.begin(), new_lines.end());
  std::string out;
  for (const std::string& line : old_lines)
    if (!new_set.contains(line)) out += "-" + line + '\n';
  for (const std::string& line : new_lines)
    if (!old_set.contains(line)) out += "+" + line + '\n';
  return out;
}

}  // namespace

Graph run_pipeline(const Graph& graph, const CompileOptions& options) {
  const FloatingEnvironment environment(Subnormals::keep);
  Graph current = graph;
  for (const Pass& pass : pipeline(options)) {
    const auto start = std::chrono::steady_clock::now();
    Graph next = pass.run(current);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    verify(next, pass.stage);
    if (options.trace) {
      const std::string diff = difference(print(current), print(next));
      options.trace(concat("== ", pass.name, " (", static_cast<std::int64_t>(time.count()),
                           " ms)\n", diff.empty() ? "(unchanged)\n" : diff));
    }
    current = std::move(next);
  }
  return current;
}

Plan compile(const Graph& graph, const CompileOptions& options) {
  Graph ready = run_pipeline(graph, options);
  const auto [symbol, parts] = options.in_parts ? batch_parts(graph, ready) : BatchParts{};
  if (parts == 1) return make_plan(std::move(ready), options);
  CompileOptions of_part = options;
  of_part.binding.at(symbol) /= parts;
  Plan plan = make_plan(run_pipeline(graph, of_part), of_part);
  plan.parts = parts;
  return plan;
}

}  // namespace narrowgauge
