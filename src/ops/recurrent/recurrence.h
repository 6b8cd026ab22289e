// SPDX-License-Identifier: Apache-2.0
// What ONNX's recurrent ops share: attributes, shapes, and the loop over time in both directions.
#pragma once

#include <functional>
#include <string>

#include "narrowgauge/op_record.h"
#include "ops/recurrent/activations.h"

namespace narrowgauge {

// Visits the attributes that all recurrent ops have.
void visit_recurrent(auto& self, auto&& visit) {
  visit("activation_alpha", self.activation_alpha);
  visit("activation_beta", self.activation_beta);
  visit("activations", self.activations);
  visit("clip", self.clip);
  visit("direction", self.direction);
  visit("hidden_size", self.hidden_size);
  visit("layout", self.layout);
}

// The attributes in one form, with the facts of the op. Inputs are x, w, r, b, sequence_lens, then
// the initial states.
struct RecurrentAttributes {
  std::string_view op;
  std::int64_t gates, states;               // the op's
  std::string_view activations_by_default;  // of one direction
  std::string_view activations;
  const Tensor &activation_alpha, &activation_beta;
  double clip;
  std::string_view direction;
  std::int64_t hidden_size, layout;

  std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};
template <class Op>
RecurrentAttributes recurrent_attributes(const Op& op) {
  return {Op::info.name,  Op::gates,           Op::states,         Op::activations_by_default,
          op.activations, op.activation_alpha, op.activation_beta, op.clip,
          op.direction,   op.hidden_size,      op.layout};
}

// Types of Y and of the last states; throws UsageError for attributes and inputs that do not fit.
TensorTypes recurrent_types(const RecurrentAttributes& attributes, const Inference& in);
// Throws UsageError unless an optional input has the shape.
void require_recurrent_shape(const Inference& in, int input, const Shape& shape);

// One direction while its parts are built, inside the loop over time: what a cell reads.
struct RecurrentStep {
  Rewriting& r;
  Expression gates;  // w x + biases [N, gates * hidden]
  std::vector<Expression> states;
  std::vector<Expression> weights;  // as RecurrentDirection gave them
  const std::vector<RecurrentActivation>& activations;
  double clip;

  // An activation after clipping, by its number in this direction.
  Expression activate(std::size_t number, Expression x) const;
};
// Returns the next states; the first is the output.
using RecurrentCell = std::function<std::vector<Expression>(const RecurrentStep&)>;

// One direction before the loop.
struct RecurrentDirection {
  Values biases;   // of the gates [gates * hidden], added one after the other
  Values weights;  // for the cell, the first r [gates * hidden, hidden]
};
using RecurrentWeights = std::function<RecurrentDirection(std::int64_t direction)>;

// Y and the last states.
Values run_recurrence(Rewriting& r, const RecurrentAttributes& attributes,
                      const RecurrentWeights& weights, const RecurrentCell& cell);

// Row `direction` of an input [directions, ...].
Value recurrent_row(Rewriting& r, int input, std::int64_t direction);
// Equal pieces along the last axis.
std::vector<Expression> split_last(Rewriting& r, Value value, std::int64_t pieces);

}  // namespace narrowgauge
