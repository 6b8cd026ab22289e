// SPDX-License-Identifier: Apache-2.0
#include "api/contraction_times.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include "base/parallel.h"
#include "base/random.h"
#include "ops/fused.h"

namespace narrowgauge {
namespace {

using Clock = std::chrono::steady_clock;

bool is_float(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

// Between -1 and 1 and not zero; no units run faster or slower on such data. Whole numbers are 0:
// they would be places in something.
void fill(Tensor& tensor) {
  if (!is_float(tensor.dtype())) {
    std::memset(tensor.data(), 0, static_cast<std::size_t>(tensor.bytes()));
    return;
  }
  constexpr std::int64_t pattern = 4099;
  const RandomStream random(1, "contraction");
  const std::int64_t drawn = std::min(pattern, tensor.size());
  for (std::int64_t i = 0; i < drawn; ++i)
    tensor.set(i, 2 * random.uniform(static_cast<std::uint64_t>(i)) - 0.99);
  const std::int64_t step = drawn > 0 ? tensor.bytes() / tensor.size() * drawn : 0;
  for (std::int64_t at = step; step > 0 && at < tensor.bytes(); at += step)
    std::memcpy(tensor.data() + at, tensor.data(),
                static_cast<std::size_t>(std::min(step, tensor.bytes() - at)));
}

// Values in their storage, padded where it has blocks.
Tensor stored(const ValueInfo& info) {
  return Tensor(info.type.dtype, {stored_elements(known_dims(info.type.shape), info.storage)});
}

// One step of a plan with memory of its own.
class Bench {
 public:
  Bench(const Graph& graph, const Node& node, const PlanStep& step) : step_(step) {
    for (const Value& value : node.inputs) {
      if (value.is_absent()) {
        inputs_.push_back({});
        continue;
      }
      tensors_.push_back(stored(graph.info(value)));
      fill(tensors_.back());
      inputs_.push_back({tensors_.back().data()});
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (step.outputs[o].location.kind == Location::Kind::none) {
        outputs_.push_back({});
        continue;
      }
      tensors_.push_back(stored(node.outputs[o]));
      outputs_.push_back({tensors_.back().data()});
    }
    flushed_.resize(node.outputs.size());
    workspace_ = Tensor(DType::u8, {std::max<std::int64_t>(step.workspace_bytes, 1)});
  }

  double milliseconds() {
    const auto start = Clock::now();
    step_.run({inputs_, outputs_, workspace_.data(), flushed_, {}});
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }

 private:
  const PlanStep& step_;
  std::vector<Tensor> tensors_;
  std::vector<View> inputs_, outputs_;
  std::vector<std::int64_t> flushed_;
  Tensor workspace_;
};

// Sorted.
std::vector<double> run_times(Bench bench, double seconds, std::size_t least) {
  const FlushDenormalsScope flush;  // as the executor runs it
  bench.milliseconds();
  std::vector<double> times;
  for (double all = 0; times.size() < least || all < 1e3 * seconds; all += times.back())
    times.push_back(bench.milliseconds());
  std::sort(times.begin(), times.end());
  return times;
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

// Attributes; of a group, what its body does, whatever its nodes are called.
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
                       step.implementation, step.math, step.flops, step.bytes});
    ++found[place->second].count;
  }
  return found;
}

void time_contraction(const Plan& plan, ContractionTime& contraction, double seconds,
                      std::size_t least) {
  const auto step = std::find_if(plan.steps.begin(), plan.steps.end(),
                                 [&](const auto& each) { return each.node == contraction.node; });
  NG_INVARIANT(step != plan.steps.end());
  const Node& node = plan.graph.node(plan.graph.find_node(contraction.node));
  const std::vector<double> runs = run_times(Bench(plan.graph, node, *step), seconds, least);
  contraction.milliseconds = runs[runs.size() / 2];
  contraction.fastest = runs.front();
}

std::vector<ContractionTime> time_contractions(const Plan& plan, double seconds_each) {
  std::vector<ContractionTime> times = distinct_contractions(plan);
  for (ContractionTime& each : times) time_contraction(plan, each, seconds_each);
  return times;
}

}  // namespace narrowgauge
