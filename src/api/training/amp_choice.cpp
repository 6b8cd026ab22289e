// SPDX-License-Identifier: Apache-2.0
#include "api/training/amp_choice.h"

#include <algorithm>
#include <cmath>

#include "api/model/built_network.h"
#include "api/programs/contraction_times.h"
#include "api/programs/kernel_cache.h"
#include "api/training/training_setup.h"
#include "compile/compile.h"
#include "narrowgauge/out_of_memory.h"
#include "precision/apply.h"
#include "precision/colouring/policy.h"
#include "train/training_graph.h"

namespace narrowgauge {
namespace {

// Contractions of more work are left out if there are smaller ones: the choice should take a
// second, not minutes.
constexpr double most_flops = 1e10;
constexpr std::size_t most_tried = 10;

Plan training_plan(const Graph& forward, const Optimizer& optimizer, std::int64_t batch) {
  const Graph graph = make_training_graph(forward, optimizer);
  const PrecisionPlan precision = make_precision_plan(graph, optimizer.precision);
  require_effect(precision);
  return compile(apply(graph, precision), {.binding = {{"N", batch}}, .kernels = kernel_cache()});
}

// Nodes to try, spread evenly over those of bearable work, the lighter first.
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

struct FormatPlan {
  DType format;
  Plan plan;
};

// Plans in f32 and in each narrow format that changes something in the network.
std::vector<FormatPlan> format_plans(const Graph& forward, const Optimizer& optimizer,
                                     std::int64_t batch) {
  std::vector<FormatPlan> plans;
  for (const DType format : {DType::f32, DType::bf16, DType::f16}) {
    Optimizer each = optimizer;
    each.precision.narrow = format;
    if (format == DType::f32) each.precision.master_weights = true;
    settle_loss_scale(each, forward);
    try {
      plans.push_back({format, training_plan(forward, each, batch)});
    } catch (const UsageError&) {
      if (plans.empty()) throw;
    }
  }
  return plans;
}

bool is_widened(const Plan& plan, const std::vector<std::string>& nodes) {
  return std::all_of(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& step) {
    const bool tried = std::find(nodes.begin(), nodes.end(), step.node) != nodes.end() && step.run;
    return !tried || step.facts.widened;
  });
}

// Returns false if other programs make the rates unmeasurable.
bool measure_rates(const std::vector<FormatPlan>& formats, Stopwatch& stopwatch,
                   std::vector<FormatRate>& rates) {
  const std::vector<std::string> nodes = nodes_to_try(formats.front().plan);
  std::vector<const Plan*> plans;
  for (const FormatPlan& format : formats) plans.push_back(&format.plan);
  std::vector<WayTimes> ways;
  try {
    ways = time_by_turns(plans, nodes, stopwatch);
  } catch (const OutOfMemoryError&) {  // whoever trains with this batch says what it needs
  }
  rates.clear();
  for (std::size_t i = 0; i < formats.size(); ++i)
    rates.push_back({formats[i].format, ways.empty() ? 0 : ways[i].gflops(),
                     is_widened(formats[i].plan, nodes)});
  return !ways.empty();
}

}  // namespace

std::unique_ptr<Stopwatch> make_stopwatch() { return std::make_unique<Stopwatch>(); }

Grounds measure_or_model(const MakeStopwatch& make, FunctionRef<bool(Stopwatch&)> measure) {
  if (measure(*make())) return Grounds::all_threads;
  if (thread_count() == 1) return Grounds::model;
  const ThreadScope alone(1);
  return measure(*make()) ? Grounds::one_thread : Grounds::model;
}

// On AMX one product of bf16 does what three do for f32, and for f16. On AMD's AVX512_BF16 a pair
// of bf16 is multiplied as fast as one of int16, which f32 and f16 have to be scaled to first.
// Elsewhere all are multiplied alike, in int16 or in f32.
FormatRate modelled_rate(Isa isa, DType format) {
  double rate = 1;
  if (format == DType::bf16 && isa == Isa::amx) rate = 3;
  if (format == DType::bf16 && isa == Isa::bf16) rate = 1.2;
  return {format, rate, format != DType::f32 && isa < Isa::vnni};
}

namespace {

std::string rates_text(const std::vector<FormatRate>& rates) {
  std::string text;
  for (const FormatRate& rate : rates)
    text += concat(text.empty() ? "" : ", ", std::llround(rate.gflops),
                   text.empty() ? " GFLOP/s in " : " in ", rate.format);
  return text;
}

std::string grounds_text(const std::vector<FormatRate>& rates, Grounds grounds) {
  switch (grounds) {
    case Grounds::one_thread:
      return "other programs use the cores; contractions of one thread at " + rates_text(rates);
    case Grounds::model:
      return "too busy to tell; by what units this CPU has";
    default:
      return "contractions at " + rates_text(rates);
  }
}

}  // namespace

AmpChoice fastest_format(const std::vector<FormatRate>& rates, Grounds grounds) {
  AmpChoice choice;
  double best = rates.front().gflops * faster_by;
  for (const FormatRate& rate : rates) {
    if (rate.format == DType::f32 || rate.widened || rate.gflops < best || rate.gflops <= 0)
      continue;
    choice.format = rate.format;
    best = std::nextafter(rate.gflops, INFINITY);
  }
  choice.reason = concat(grounds_text(rates, grounds),
                         choice.format == DType::f32 ? ": no narrow format is faster here"
                                                     : concat(": ", choice.format, " is fastest"));
  return choice;
}

AmpChoice choose_amp(const std::string& name, const BuildNetwork& build, const Loss& loss,
                     const Optimizer& optimizer, std::int64_t batch, const MakeStopwatch& make) {
  Network network(name, Mode::train);
  const Value prediction = built_prediction(network, build);
  network.graph().output("loss", built_loss(network, loss, prediction));
  std::vector<FormatRate> rates;
  const Grounds grounds = measure_or_model(make, [&](Stopwatch& stopwatch) {
    return measure_rates(format_plans(network.graph(), optimizer, batch), stopwatch, rates);
  });
  if (grounds == Grounds::model)
    for (FormatRate& rate : rates) rate = modelled_rate(isa(), rate.format);
  return fastest_format(rates, grounds);
}

}  // namespace narrowgauge
