// SPDX-License-Identifier: Apache-2.0
#include "api/amp_choice.h"

#include <algorithm>
#include <cmath>

#include "api/contraction_times.h"
#include "api/kernel_cache.h"
#include "compile/compile.h"
#include "precision/apply.h"
#include "precision/lists.h"
#include "train/training_graph.h"

namespace narrowgauge {
namespace {

constexpr double worth_it = 1.05;

// Contractions of more work are passed over where there are lesser ones: the choice is to take a
// second, not minutes.
constexpr double most_flops = 1e10;
constexpr std::size_t most_tried = 10;

Plan training_plan(const Graph& forward, const Optimizer& optimizer, std::int64_t batch) {
  const Graph graph = make_training_graph(forward, optimizer);
  const PrecisionPlan precision =
      optimizer.mixed_precision ? plan_by_lists(graph, {.request = *optimizer.mixed_precision})
                                : f32_plan(graph, optimizer.f32_math);
  return compile(apply(graph, precision), {.binding = {{"N", batch}}, .kernels = kernel_cache()});
}

// Nodes to try: spread evenly over those of bearable work, the lighter first.
std::vector<std::string> nodes_to_try(const Plan& plan) {
  std::vector<ContractionTime> all = distinct_contractions(plan);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.flops < b.flops; });
  const auto heavy = std::find_if(all.begin(), all.end(),
                                  [](const auto& each) { return each.flops > most_flops; });
  if (heavy != all.begin()) all.erase(heavy, all.end());
  std::vector<std::string> names;
  const std::size_t count = std::min(all.size(), most_tried);
  for (std::size_t i = 0; i < count; ++i)
    names.push_back(all[(i + 1) * all.size() / count - 1].node);
  return names;
}

FormatRate rate_of(const std::string& amp, const Plan& plan,
                   const std::vector<std::string>& nodes) {
  double flops = 0, milliseconds = 0;
  bool widened = true;
  for (const PlanStep& step : plan.steps) {
    if (std::find(nodes.begin(), nodes.end(), step.node) == nodes.end() || !step.run) continue;
    ContractionTime time;
    time.node = step.node;
    time_contraction(plan, time, 1e-2, 5);
    flops += step.flops;
    milliseconds += time.fastest;
    widened &= step.implementation.find("widened") != std::string::npos;
  }
  return {amp, milliseconds > 0 ? 1e-6 * flops / milliseconds : 0, widened};
}

std::string label(const std::string& amp) { return amp == "off" ? "f32" : amp; }

}  // namespace

std::optional<DType> narrow_of_amp(const std::string& amp) {
  if (amp == "bf16") return DType::bf16;
  if (amp == "f16") return DType::f16;
  return std::nullopt;
}

AmpChoice fastest_format(const std::vector<FormatRate>& rates) {
  AmpChoice choice;
  double best = rates.front().gflops * worth_it;
  std::string text;
  for (const FormatRate& rate : rates) {
    text += concat(text.empty() ? "contractions at " : ", ", std::llround(rate.gflops),
                   text.empty() ? " GFLOP/s in " : " in ", label(rate.amp));
    if (rate.amp == "off" || rate.widened || rate.gflops < best || rate.gflops <= 0) continue;
    choice.amp = rate.amp;
    best = std::nextafter(rate.gflops, INFINITY);
  }
  choice.reason = text + (choice.amp == "off" ? ": no narrow format is faster here"
                                              : concat(": ", choice.amp, " is fastest"));
  return choice;
}

AmpChoice choose_amp(const std::string& name, const BuildNetwork& build, const Loss& loss,
                     const Optimizer& optimizer, std::int64_t batch) {
  Network network(name, Mode::train);
  const Value prediction = build(network);
  network.graph().output("loss", loss(network, prediction));
  std::vector<FormatRate> rates;
  std::vector<std::string> nodes;
  for (const char* amp : {"off", "bf16", "f16"}) {
    Optimizer each = optimizer;
    each.mixed_precision.reset();
    if (const auto narrow = narrow_of_amp(amp)) enable_mixed_precision(each, *narrow);
    try {
      const Plan plan = training_plan(network.graph(), each, batch);
      if (nodes.empty()) nodes = nodes_to_try(plan);
      rates.push_back(rate_of(amp, plan, nodes));
    } catch (const UsageError&) {
      if (rates.empty()) throw;
    }
  }
  return fastest_format(rates);
}

}  // namespace narrowgauge
