// SPDX-License-Identifier: Apache-2.0
// An operand that is expanded to the shape of the other, which broadcasting does by itself: nothing
// has to be stored.
#include "ops/index/expand.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/shape/reshape.h"
#include "passes/forms/form.h"

namespace narrowgauge {

namespace {

Value before_expansion(const Forms& forms, Value value) {
  if (const Node* const node = forms.made_by<Expand>(value)) return node->input(0);
  if (const Node* const node = forms.made_by<ExpandTo>(value)) return node->input(0);
  return value;
}

template <class Op>
std::optional<Value> broadcast_op(Forms& forms, Value end) {
  const Node* const node = forms.made_by<Op>(end);
  if (!node) return {};
  const Value a = node->input(0), b = node->input(1);
  const Value narrow_a = before_expansion(forms, a), narrow_b = before_expansion(forms, b);
  const auto put_if_same = [&](Value left, Value right) -> std::optional<Value> {
    const bool same =
        broadcast_shapes("broadcast", forms.shape(left), forms.shape(right)) == forms.shape(end);
    if (!same || (left == a && right == b)) return {};
    return forms.put(end, Op{}, {forms.mapped(left), forms.mapped(right)});
  };
  if (const auto made = put_if_same(narrow_a, narrow_b)) return made;
  if (const auto made = put_if_same(narrow_a, b)) return made;
  return put_if_same(a, narrow_b);
}

}  // namespace

std::optional<Value> broadcast_form(Forms& forms, int node) {
  const Value end{node, 0};
  if (const auto made = broadcast_op<Mul>(forms, end)) return made;
  if (const auto made = broadcast_op<Add>(forms, end)) return made;
  if (const auto made = broadcast_op<Sub>(forms, end)) return made;
  return broadcast_op<Div>(forms, end);
}

}  // namespace narrowgauge
