// SPDX-License-Identifier: Apache-2.0
#include "api/programs/contraction_profile.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "ir/attributes.h"
#include "ir/readers.h"

namespace narrowgauge {

namespace {

constexpr std::chrono::milliseconds enough{300};
constexpr int least_runs = 5;

// The name of a node, or of one inside it, that is among `names`; "" if none is.
std::string name_within(const Node& node, const std::set<std::string>& names) {
  if (names.contains(node.full_name())) return node.full_name();
  for (const Region& region : regions_of(node))
    for (const Node& inner : region->nodes())
      if (std::string found = name_within(inner, names); !found.empty()) return found;
  return "";
}

// The contraction for which each node of a graph computes; "" for none or several.
std::map<std::string, std::string> owners(const Graph& graph, const std::set<std::string>& names) {
  const Readers readers(graph);
  const int count = static_cast<int>(graph.nodes().size());
  std::vector<std::string> owner(static_cast<std::size_t>(count));
  std::map<std::string, std::string> by_name;
  for (int i = count - 1; i >= 0; --i) {
    std::string& mine = owner[static_cast<std::size_t>(i)];
    mine = name_within(graph.node(i), names);
    const int reader = graph.node(i).outputs.size() == 1 ? readers.only({i, 0}) : -1;
    if (mine.empty() && reader >= 0) mine = owner[static_cast<std::size_t>(reader)];
    by_name[graph.node(i).full_name()] = mine;
  }
  return by_name;
}

std::vector<double> least_times(Executor& executor, std::span<const Tensor> inputs) {
  executor.run(inputs);
  executor.enable_profile(true, true);
  const auto end = std::chrono::steady_clock::now() + enough;
  for (int run = 0; run < least_runs || std::chrono::steady_clock::now() < end; ++run)
    executor.run(inputs);
  executor.enable_profile(false);
  std::vector<double> least(executor.plan().steps.size(), std::numeric_limits<double>::infinity());
  for (const StepRun& run : executor.step_runs())
    least[run.step] = std::min(least[run.step], run.milliseconds);
  return least;
}

}  // namespace

ContractionTimes profile_contractions(Executor& executor, std::span<const Tensor> inputs,
                                      const std::set<std::string>& names) {
  const Plan& plan = executor.plan();
  const std::map<std::string, std::string> owner = owners(plan.graph, names);
  const std::vector<double> least = least_times(executor, inputs);
  ContractionTimes times;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const auto found = owner.find(plan.steps[s].node);
    if (found == owner.end() || found->second.empty() || !plan.steps[s].run) continue;
    times[found->second] += least[s];
  }
  return times;
}

}  // namespace narrowgauge
