// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/recurrence.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/control/control_flow.h"
#include "ops/index/gather.h"
#include "ops/math/matmul.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/comparison.h"
#include "ops/pointwise/min_max.h"
#include "ops/shape/concat.h"
#include "ops/shape/reshape.h"
#include "ops/shape/transpose.h"

namespace narrowgauge {

namespace {

std::vector<RecurrentActivation> activations_of(const RecurrentAttributes& a) {
  std::string names(a.activations);
  if (names.empty())
    for (std::int64_t d = 0; d < a.directions(); ++d)
      names += concat(names.empty() ? "" : ",", a.activations_by_default);
  auto activations = parse_activations(a.op, names, a.activation_alpha, a.activation_beta);
  const auto of_one =
      std::count(a.activations_by_default.begin(), a.activations_by_default.end(), ',') + 1;
  require(static_cast<std::int64_t>(activations.size()) == of_one * a.directions(), a.op,
          ": expected ", of_one * a.directions(), " activations, got '", a.activations, "'");
  return activations;
}

void check_attributes(const RecurrentAttributes& a) {
  require(a.direction == "forward" || a.direction == "reverse" || a.direction == "bidirectional",
          a.op, ": direction must be forward, reverse or bidirectional, got '", a.direction, "'");
  require(a.layout == 0 || a.layout == 1, a.op, ": layout must be 0 or 1, got ", a.layout);
  require(a.clip >= 0 && std::isfinite(a.clip), a.op, ": clip must not be negative, got ", a.clip);
  activations_of(a);
}

// [T, N, ...] and [N, T, ...], or [D, N, H] and [N, D, H], exchange their first axes with layout 1.
Shape in_layout(const RecurrentAttributes& a, Shape shape) {
  if (a.layout == 1) std::swap(shape[0], shape[1]);
  return shape;
}

}  // namespace

void require_recurrent_shape(const Inference& in, int input, const Shape& shape) {
  require(!in.has(input) || in.shape(input) == shape, in.op_name(), ": expected input ", input,
          " of shape ", shape, ", got ", in.has(input) ? in.type(input) : TensorType{});
}

TensorTypes recurrent_types(const RecurrentAttributes& a, const Inference& in) {
  check_attributes(a);
  require(in.rank(0) == 3 && in.rank(2) == 3, a.op,
          ": expected x [T,N,input] (layout 0) and r [directions,", a.gates,
          "*hidden,hidden], got ", in.type(0), " and ", in.type(2));
  const Shape x = in_layout(a, in.shape(0));
  const Dim hidden = in.shape(2)[2], directions = a.directions();
  require(hidden.is_known() && hidden.value() > 0 &&
              (a.hidden_size == 0 || hidden == Dim(a.hidden_size)),
          a.op, ": hidden_size ", a.hidden_size, " does not fit r ", in.type(2));
  require_recurrent_shape(in, 1, {directions, hidden * a.gates, x[2]});
  require_recurrent_shape(in, 2, {directions, hidden * a.gates, hidden});
  require_recurrent_shape(in, 3, {directions, hidden * a.gates * 2});
  require_recurrent_shape(in, 4, {x[1]});
  const Shape state = in_layout(a, {directions, x[1], hidden});
  for (int s = 0; s < a.states; ++s) require_recurrent_shape(in, 5 + s, state);
  require(!in.has(4) || x[0].is_known(), a.op,
          ": sequence_lens needs a known number of steps, got x ", in.type(0));
  Shape y{x[0], directions, x[1], hidden};
  if (a.layout == 1) y = {x[1], x[0], directions, hidden};
  TensorTypes types{{in.dtype(0), y}};
  types.resize(static_cast<std::size_t>(1 + a.states), {in.dtype(0), state});
  return types;
}

Expression RecurrentStep::activate(std::size_t number, Expression x) const {
  if (clip > 0) x = {r, r.add(Clip{}, {x, x.number(-clip), x.number(clip)})};
  return activations[number](x);
}

Value recurrent_row(Rewriting& r, int input, std::int64_t direction) {
  if (!r.has_input(input)) return absent;
  const Shape& shape = r.shape(r.input(input));
  if (shape[0] == Dim(1))  // a view: weights are not copied
    return r.add(ReshapeTo{{shape.begin() + 1, shape.end()}}, {r.input(input)});
  const Value index = r.constant(Tensor::scalar(DType::i64, static_cast<double>(direction)));
  return r.add(Gather{0}, {r.input(input), index});
}

std::vector<Expression> split_last(Rewriting& r, Value value, std::int64_t pieces) {
  const Dim size = r.shape(value).back() / pieces;
  const Value first =
      r.add(ConcatGradient{-1, Shape(static_cast<std::size_t>(pieces), size)}, {value});
  std::vector<Expression> split;
  for (int i = 0; i < pieces; ++i) split.push_back({r, Value{first.node, i}});
  return split;
}

namespace {

// Builds the parts of a recurrent op.
class Recurrence {
 public:
  Recurrence(Rewriting& r, const RecurrentAttributes& a)
      : r_(r), a_(a), activations_(activations_of(a)), x_(steps_first(r.input(0))) {
    const Shape x = r.shape(x_);
    steps_ = x[0];
    batch_ = x[1];
    hidden_ = r.shape(r.input(2))[2];
  }

  // y [T, N, H] and the last states [N, H] of one direction.
  Values run(std::int64_t direction, const RecurrentDirection& parts, const RecurrentCell& cell) {
    Value gates = r_.add(FusedMatMul{false, true}, {x_, recurrent_row(r_, 1, direction)});
    for (const Value bias : parts.biases) gates = r_.add(Add{}, {gates, bias});
    Values inputs;
    for (int s = 0; s < a_.states; ++s) inputs.push_back(initial(s, direction));
    Values scanned{gates};
    if (r_.has_input(4)) scanned.push_back(mask());
    inputs.insert(inputs.end(), scanned.begin(), scanned.end());
    inputs.insert(inputs.end(), parts.weights.begin(), parts.weights.end());
    const bool backwards = a_.direction == "reverse" || direction == 1;
    Scan scan;
    scan.num_scan_inputs = static_cast<std::int64_t>(scanned.size());
    scan.captured = static_cast<std::int64_t>(parts.weights.size());
    scan.scan_input_directions.assign(scanned.size(), backwards);
    scan.scan_output_directions = {backwards};
    scan.body = body(direction, inputs, scanned.size(), cell);
    const Value first = r_.add(scan, inputs);
    Values results{{first.node, static_cast<int>(a_.states)}};
    for (int s = 0; s < a_.states; ++s) results.push_back({first.node, s});
    return results;
  }

  Value steps_first(Value x) const {
    return a_.layout == 1 ? r_.add(Transpose{{1, 0, 2}}, {x}) : x;
  }
  // y of all directions, each [T, N, H], as Y.
  Value join_outputs(const Values& y) const {
    const Value joined = stack(y, {steps_, 1, batch_, hidden_}, 1);
    return a_.layout == 1 ? r_.add(Transpose{{2, 0, 1, 3}}, {joined}) : joined;
  }
  // States of all directions, each [N, H].
  Value join_states(const Values& states) const {
    return steps_first(stack(states, {1, batch_, hidden_}, 0));
  }

 private:
  Value stack(Values parts, const Shape& shape, std::int64_t axis) const {
    for (Value& part : parts) part = r_.add(ReshapeTo{shape}, {part});
    return parts.size() == 1 ? parts[0] : r_.add(Concat{axis}, parts);
  }
  Value initial(int state, std::int64_t direction) const {
    const Shape shape{batch_, hidden_};
    if (!r_.has_input(5 + state)) return r_.add(ExpandTo{shape}, {r_.scalar(0, r_.type(x_).dtype)});
    const Value index = r_.constant(Tensor::scalar(DType::i64, static_cast<double>(direction)));
    return r_.add(Gather{a_.layout}, {r_.input(5 + state), index});
  }
  // bool [T, N, 1]: whether a step lies within its sequence.
  Value mask() const {
    Tensor steps(r_.type(r_.input(4)).dtype, {steps_.value(), 1, 1});
    for (std::int64_t t = 0; t < steps.size(); ++t) steps.set(t, static_cast<double>(t));
    const Value lengths = r_.add(ReshapeTo{Shape{1, batch_, 1}}, {r_.input(4)});
    return r_.add(Less{}, {r_.constant(steps), lengths});
  }
  // The region of one step. Beyond the end of a sequence states stay, and the output is 0.
  Region body(std::int64_t direction, const Values& inputs, std::size_t scanned,
              const RecurrentCell& cell) const {
    Graph graph("step");
    Rewriting r(graph, {}, {});
    const auto states = static_cast<std::size_t>(a_.states);
    std::vector<Expression> in;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      TensorType type = r_.type(inputs[i]);
      if (i >= states && i < states + scanned) type.shape.erase(type.shape.begin());
      in.push_back({r, graph.input(concat("in", i), type)});
    }
    const auto at = [&](std::size_t i) { return in.begin() + static_cast<std::ptrdiff_t>(i); };
    const std::size_t of_one = activations_.size() / static_cast<std::size_t>(a_.directions());
    const auto first = activations_.begin() + static_cast<std::ptrdiff_t>(of_one) * direction;
    const std::vector<RecurrentActivation> activations(first,
                                                       first + static_cast<std::ptrdiff_t>(of_one));
    std::vector<Expression> next = cell({r,
                                         in[states],
                                         {in.begin(), at(states)},
                                         {at(states + scanned), in.end()},
                                         activations,
                                         a_.clip});
    Expression y = next[0];
    if (scanned > 1) {
      const Expression within = in[states + 1];
      y = where(within, y, 0);
      for (std::size_t s = 0; s < states; ++s) next[s] = where(within, next[s], in[s]);
    }
    for (std::size_t s = 0; s < states; ++s) graph.output(concat("state", s), next[s]);
    graph.output("y", y);
    return std::make_shared<const Graph>(std::move(graph));
  }

  Rewriting& r_;
  const RecurrentAttributes& a_;
  std::vector<RecurrentActivation> activations_;
  Value x_;
  Dim steps_, batch_, hidden_;
};

}  // namespace

Values run_recurrence(Rewriting& r, const RecurrentAttributes& a, const RecurrentWeights& weights,
                      const RecurrentCell& cell) {
  Recurrence recurrence(r, a);
  std::vector<Values> results(static_cast<std::size_t>(1 + a.states));  // of each direction
  for (std::int64_t d = 0; d < a.directions(); ++d) {
    const Values of_one = recurrence.run(d, weights(d), cell);
    for (std::size_t o = 0; o < results.size(); ++o) results[o].push_back(of_one[o]);
  }
  Values outputs{recurrence.join_outputs(results[0])};
  for (std::size_t o = 1; o < results.size(); ++o)
    outputs.push_back(recurrence.join_states(results[o]));
  return outputs;
}

}  // namespace narrowgauge
