// SPDX-License-Identifier: Apache-2.0
// How a written-out form is found: from its last node backwards, by what made each value.
#pragma once

#include <cmath>
#include <optional>
#include <utility>

#include "passes/core/rebuild.h"

namespace narrowgauge {

// The graph that is searched, and the one that is made of it.
class Forms {
 public:
  Forms(const Graph& graph, Rebuild& rebuild) : graph_(graph), rebuild_(rebuild) {}

  const Graph& graph() const { return graph_; }
  const Shape& shape(Value value) const { return graph_.type(value).shape; }
  // The node of this op whose first output the value is; nullptr if another made it.
  template <class Op>
  const Node* made_by(Value value) const {
    const Node& node = graph_.producer(value);
    return value.output == 0 && node.is<Op>() ? &node : nullptr;
  }
  // The number of a constant of one element.
  std::optional<double> number(Value value) const {
    const Tensor* const tensor = graph_.constant_value(value);
    return tensor && tensor->size() == 1 ? std::optional(tensor->at(0)) : std::nullopt;
  }
  // Whether it is this number, to the digits that exporters write.
  bool is(Value value, double wanted) const {
    const auto given = number(value);
    return given && std::abs(*given - wanted) <= 1e-4 * std::abs(wanted);
  }

  // The value in the new graph.
  Value mapped(Value value) const { return rebuild_.mapped(value); }
  // The op of a form in place of the node that it ends with, whose name it takes.
  template <class Op>
  Value put(Value end, Op op, Values inputs) {
    return made().add(std::move(op), std::move(inputs), {.name = graph_.producer(end).name});
  }
  Graph& made() { return rebuild_.graph(); }
  const Node& producer_of_mapped(Value value) { return made().producer(mapped(value)); }

 private:
  const Graph& graph_;
  Rebuild& rebuild_;
};

// What takes the place of a node's only output, in the new graph; nothing if no form ends there.
using Form = std::optional<Value> (*)(Forms& forms, int node);
std::optional<Value> activation_form(Forms& forms, int node);
std::optional<Value> normalization_form(Forms& forms, int node);
std::optional<Value> attention_form(Forms& forms, int node);
std::optional<Value> widened_form(Forms& forms, int node);        // between casts
std::optional<Value> transposition_form(Forms& forms, int node);  // one that undoes another
std::optional<Value> broadcast_form(Forms& forms, int node);      // of an expanded operand
std::optional<Value> reshape_form(Forms& forms, int node);        // one that undoes another

// The inputs of a node of two, in both orders.
inline std::pair<std::pair<Value, Value>, std::pair<Value, Value>> both_orders(const Node& node) {
  return {{node.input(0), node.input(1)}, {node.input(1), node.input(0)}};
}
// Calls find(a, b) for both orders of the inputs of the value's node, if it is of this op; the
// first result there is.
template <class Op, class Find>
auto find_in(const Forms& forms, Value value, const Find& find) -> decltype(find(value, value)) {
  const Node* const node = forms.made_by<Op>(value);
  if (!node) return {};
  const auto [first, second] = both_orders(*node);
  if (auto found = find(first.first, first.second)) return found;
  return find(second.first, second.second);
}

}  // namespace narrowgauge
