// SPDX-License-Identifier: Apache-2.0
#include "api/programs/contraction_times.h"

#include <algorithm>
#include <map>

#include "groups/fused.h"
#include "passes/core/operands.h"

namespace narrowgauge {
namespace {

// Times of the runs in milliseconds, sorted.
std::vector<double> run_times(ContractionRun& run, double seconds, std::size_t least) {
  Stopwatch stopwatch;
  run.milliseconds(stopwatch);
  std::vector<double> times;
  for (double all = 0; times.size() < least || all < 1e3 * seconds; all += times.back())
    times.push_back(run.milliseconds(stopwatch));
  std::sort(times.begin(), times.end());
  return times;
}

// nullptr if the plan has no such node, or nothing runs for it.
const PlanStep* find_step(const Plan& plan, const std::string& node) {
  const auto step = std::find_if(plan.steps.begin(), plan.steps.end(),
                                 [&](const PlanStep& each) { return each.node == node; });
  return step == plan.steps.end() || !step->run ? nullptr : &*step;
}

std::string type_text(const ValueInfo& info) {
  std::string text = concat(info.type);
  if (!info.storage.is_plain()) text += concat(' ', info.storage);
  return text;
}

std::string operands_text(const Graph& graph, const Node& node) {
  std::string text;
  for (const Value& value : node.inputs)
    if (!value.is_absent()) text += (text.empty() ? "" : " x ") + type_text(graph.info(value));
  text += " ->";
  for (const ValueInfo& output : node.outputs) text += ' ' + type_text(output);
  return text;
}

// The attributes; for a group, those of its body, whatever its nodes are called.
std::string attributes_text(const Node& node) {
  if (!node.is<Fused>()) return print_attributes(*node.op, node.attributes);
  std::string text;
  for (const Node& inner : node.as<Fused>().body->nodes()) {
    text += concat(inner.op->full_name(), '(');
    for (const Value& value : inner.inputs) text += concat(value.node, ':', value.output, ' ');
    text += concat(") ", print_attributes(*inner.op, inner.attributes), ';');
  }
  return text;
}

std::string shapes_text(const Graph& graph, const Node& node) {
  std::string text;
  for (const Value& value : node.inputs)
    if (!value.is_absent()) text += concat(text.empty() ? "" : " x ", graph.type(value));
  for (std::size_t o = 0; o < node.outputs.size(); ++o)
    text += concat(o == 0 ? " -> " : ", ", node.outputs[o].type);
  return text;
}

}  // namespace

std::vector<ContractionTime> distinct_contractions(const Plan& plan) {
  std::vector<ContractionTime> found;
  std::map<std::string, std::size_t> known;
  for (const PlanStep& step : plan.steps) {
    if (step.flops <= 0 || !step.run) continue;
    const Node& node = plan.graph.node(plan.graph.find_node(step.node));
    const std::string key = concat(step.op, '|', attributes_text(node), '|', step.math, '|',
                                   operands_text(plan.graph, node), '|', step.implementation);
    const auto [place, fresh] = known.emplace(key, found.size());
    if (fresh)
      found.push_back({step.op, step.node, node.origin, shapes_text(plan.graph, node),
                       step.implementation, step.why, step.facts, step.math, step.flops,
                       step.bytes});
    ++found[place->second].count;
  }
  return found;
}

ContractionRun::ContractionRun(const Plan& plan, const std::string& name)
    : step_(find_step(plan, name)) {
  NG_INVARIANT(step_ != nullptr);
  const int index = plan.graph.find_node(name);
  const Node& node = plan.graph.node(index);
  const std::vector<Operand> inputs = input_operands(plan.graph, node);
  std::vector<Operand> outputs;
  for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o) {
    outputs.push_back(operand_of(plan.graph, {index, o}));
    outputs.back().present =
        step_->outputs[static_cast<std::size_t>(o)].location.kind != Location::Kind::none;
  }
  kernel_ = std::make_unique<LoneKernel>(inputs, outputs, step_->workspace_bytes);
  if (step_->packing) packed_ = kernel_->pack(plan.packings[*step_->packing].packing);
}

double ContractionRun::milliseconds(Stopwatch& stopwatch) {
  return kernel_->milliseconds(step_->run, packed_, stopwatch);
}

void time_contraction(const Plan& plan, ContractionTime& contraction, double seconds,
                      std::size_t least) {
  ContractionRun run(plan, contraction.node);
  const std::vector<double> runs = run_times(run, seconds, least);
  contraction.milliseconds = runs[runs.size() / 2];
  contraction.fastest = runs.front();
}

std::vector<ContractionTime> time_contractions(const Plan& plan, double seconds_each) {
  std::vector<ContractionTime> times = distinct_contractions(plan);
  for (ContractionTime& each : times) time_contraction(plan, each, seconds_each);
  return times;
}

namespace {

// Returns false if other programs make the times unmeasurable.
bool time_node(std::span<const Plan* const> plans, const std::string& node, Stopwatch& stopwatch,
               std::vector<WayTimes>& ways) {
  std::vector<ContractionRun> runs;
  std::vector<WayTimes*> owners;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!find_step(*plans[i], node)) continue;
    runs.emplace_back(*plans[i], node);
    owners.push_back(&ways[i]);
  }
  std::vector<Contestant> contestants;
  for (ContractionRun& run : runs)
    contestants.emplace_back([&] { return run.milliseconds(stopwatch); });
  const Turns turns = measure_by_turns(contestants, stopwatch);
  for (std::size_t i = 0; i < runs.size() && turns.steady; ++i) {
    owners[i]->flops += runs[i].step().flops;
    owners[i]->milliseconds += turns.times[i].front();
  }
  return turns.steady;
}

}  // namespace

std::vector<WayTimes> time_by_turns(std::span<const Plan* const> plans,
                                    std::span<const std::string> nodes, Stopwatch& stopwatch) {
  std::vector<WayTimes> ways(plans.size());
  for (const std::string& node : nodes)
    if (!time_node(plans, node, stopwatch, ways)) return {};
  return ways;
}

}  // namespace narrowgauge
