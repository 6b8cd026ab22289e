// SPDX-License-Identifier: Apache-2.0
// The gradient of Loop is that of a Scan over the numbers of its iterations, M of them. If the loop
// may end early, the Scan also carries the condition, and a step that does not take place leaves
// the carried values as they are.
#include <algorithm>
#include <numeric>

#include "base/enumerate.h"
#include "ir/attributes.h"
#include "ops/control/control_flow.h"
#include "ops/control/inline_region.h"
#include "ops/math/arithmetic.h"
#include "ops/math/cast.h"
#include "ops/math/comparison.h"
#include "ops/shape/axes.h"

namespace narrowgauge {

namespace {

bool is_true(const Graph& graph, Value value) {
  const Tensor* const known = graph.constant_value(value);
  return known && known->at(0) != 0;
}

// Whether every iteration is followed by the next.
bool goes_on(const Graph& body) {
  Value next = body.outputs()[0].value;
  while (body.producer(next).is<Identity>()) next = body.producer(next).input(0);
  return next == body.inputs()[1] || is_true(body, next);
}

Value constant_bool(Graph& graph, bool value) {
  return graph.constant(Tensor::scalar(DType::boolean, value ? 1 : 0));
}

// The numbers of the iterations, i64 [M].
Tensor iterations(const Gradient& g, const Graph& graph) {
  const auto trips = g.has_input(0) ? graph.known_numbers(g.input(0)) : std::nullopt;
  require<ModelError>(trips && trips->at(0) < 0x1p31,
                      "Loop: its gradient needs a known number of iterations below 2^31, got ",
                      trips ? concat(trips->at(0)) : "none");
  Dims all(static_cast<std::size_t>(std::max(trips->at(0), 0.0)));
  std::iota(all.begin(), all.end(), 0);
  return list_of(all);
}

class LoopGradient {
 public:
  LoopGradient(const Loop& loop, Gradient& g)
      : body_(*loop.body),
        g_(g),
        values_(body_.inputs().size() - 2),
        carried_(static_cast<std::size_t>(loop.carried)),
        stacked_(body_.outputs().size() - carried_ - 1) {
    const bool begins = !g.has_input(1) || is_true(g.graph(), g.input(1));
    may_end_ = stacked_ == 0 && !(begins && goes_on(body_));
    require<ModelError>(!may_end_ || std::ranges::none_of(body_.nodes(), is_random),
                        "Loop: a loop that draws random numbers has a gradient only if it cannot "
                        "end before M iterations");
  }

  Values build() {
    std::vector<int> outputs, inputs;
    for (std::size_t i = 0; i < values_; ++i)
      if (g_.wants(static_cast<int>(i) + 2)) inputs.push_back(static_cast<int>(i));
    Values operands;
    const Region scan = as_scan(operands);
    for (int o = 0; o < static_cast<int>(carried_ + stacked_); ++o)
      if (g_.has_output_gradient(o)) {
        outputs.push_back(o);
        operands.push_back(g_.output_gradient(o));
      }
    const std::string name = g_.graph().producer(g_.output()).name;
    const Values found = inline_region(g_.graph(), *g_.differentiate(scan, outputs, inputs),
                                       operands, name + ".gradient/");
    Values gradients = g_.absent_inputs();
    for (const auto& [k, input] : enumerate(inputs))
      gradients[static_cast<std::size_t>(input) + 2] = found[static_cast<std::size_t>(k)];
    return gradients;
  }

 private:
  // The loop as a graph of one Scan: takes the loop's values, and before its start the condition;
  // gives the loop's outputs. `operands` become its inputs.
  Region as_scan(Values& operands) const {
    Graph graph(body_.name() + ".scan");
    Values inputs(values_);
    for (std::size_t i = 0; i < values_; ++i) {
      inputs[i] = graph.input(concat("in.", i), type(i + 2));
      operands.push_back(g_.input(static_cast<int>(i) + 2));
    }
    Values scanned(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(carried_));
    if (may_end_) scanned.insert(scanned.begin(), condition(graph, operands));
    scanned.push_back(graph.constant(iterations(g_, g_.graph())));
    scanned.insert(scanned.end(), inputs.begin() + static_cast<std::ptrdiff_t>(carried_),
                   inputs.end());
    Scan scan;
    scan.body = step();
    scan.num_scan_inputs = 1;
    scan.captured = static_cast<std::int64_t>(values_ - carried_);
    scan.stream = g_.graph().producer(g_.output()).name;
    const Value first = graph.add(std::move(scan), std::move(scanned));
    for (std::size_t o = 0; o < carried_ + stacked_; ++o)
      graph.output(concat("out.", o), {first.node, static_cast<int>(o) + (may_end_ ? 1 : 0)});
    return std::make_shared<const Graph>(std::move(graph));
  }

  // Whether the first iteration takes place.
  Value condition(Graph& graph, Values& operands) const {
    if (!g_.has_input(1)) return constant_bool(graph, true);
    operands.push_back(g_.input(1));
    return graph.input("going", {DType::boolean, {}});
  }

  const TensorType& type(std::size_t input) const { return body_.type(body_.inputs()[input]); }

  // Adds inputs to a region: carried values, the iteration, captured values. Returns them as
  // arguments of the loop's body.
  Values add_arguments(Graph& region) const {
    Values arguments(values_ + 2);
    const auto add = [&](std::size_t i) { arguments[i] = region.input(concat("in.", i), type(i)); };
    for (std::size_t i = 0; i < carried_; ++i) add(i + 2);
    add(0);
    for (std::size_t i = carried_; i < values_; ++i) add(i + 2);
    arguments[1] = constant_bool(region, true);
    return arguments;
  }

  // The Scan's body.
  Region step() const {
    Graph region(body_.name() + ".step");
    if (may_end_) {
      add_step_that_may_end(region);
    } else {
      const Values results = inline_region(region, body_, add_arguments(region));
      for (std::size_t o = 1; o < results.size(); ++o) region.output(concat("out.", o), results[o]);
    }
    return std::make_shared<const Graph>(std::move(region));
  }

  void add_step_that_may_end(Graph& region) const {
    Graph taken(body_.name() + ".taken"), left_out(body_.name() + ".left_out");
    const Values results = inline_region(taken, body_, add_arguments(taken));
    for (std::size_t o = 0; o < results.size(); ++o) taken.output(concat("out.", o), results[o]);
    const Values same = add_arguments(left_out);
    left_out.output("out.0", constant_bool(left_out, false));
    for (std::size_t i = 0; i < carried_; ++i) left_out.output(concat("out.", i + 1), same[i + 2]);
    Values operands{region.input("going", {DType::boolean, {}})};
    for (const Value& input : taken.inputs())
      operands.push_back(region.input(taken.value_name(input), taken.type(input)));
    const Value first = region.add(If{std::make_shared<const Graph>(std::move(taken)),
                                      std::make_shared<const Graph>(std::move(left_out))},
                                   operands);
    for (int o = 0; o < static_cast<int>(results.size()); ++o)
      region.output(concat("out.", o), {first.node, o});
  }

  const Graph& body_;
  Gradient& g_;
  std::size_t values_, carried_, stacked_;  // what goes in without M and condition; what comes out
  bool may_end_ = false;
};

}  // namespace

Values Loop::gradient(Gradient& g) const { return LoopGradient(*this, g).build(); }

}  // namespace narrowgauge
