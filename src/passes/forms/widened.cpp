// SPDX-License-Identifier: Apache-2.0
// An op in f32 between casts from 16 bits and back to them as that op in 16 bits, where it computes
// in f32 inside anyway.
#include "ops/nn/attention.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/pointwise/cast.h"
#include "passes/forms/form.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

// The inputs of a node of the new graph with those of type T as they were before they were widened;
// nothing if one of them was not.
std::optional<Values> before_widening(const Graph& made, const Node& node, DType narrow) {
  Values inputs = node.inputs;
  for (int i = 0; i < std::ssize(inputs); ++i) {
    if (node.op->input_port(i).type != "T") continue;
    Value& input = inputs[static_cast<std::size_t>(i)];
    const Node& widening = made.producer(input);
    if (!widening.is<Cast>() || made.type(widening.input(0)).dtype != narrow) return {};
    input = widening.input(0);
  }
  return inputs;
}

template <class Op>
std::optional<Value> narrow(Forms& forms, Value end, const Node& wide) {
  if (!wide.is<Op>()) return {};
  const auto inputs = before_widening(forms.made(), wide, forms.graph().type(end).dtype);
  if (!inputs) return {};
  return forms.put(end, Op(wide.as<Op>()), *inputs);
}

}  // namespace

std::optional<Value> widened_form(Forms& forms, int node) {
  const Value end{node, 0};
  const Node* const cast = forms.made_by<Cast>(end);
  if (!cast || !is_narrow(cast->as<Cast>().to) || forms.mapped(cast->input(0)).output != 0)
    return {};
  const Node& wide = forms.producer_of_mapped(cast->input(0));
  if (auto made = narrow<Attention>(forms, end, wide)) return made;
  return narrow<LayerNormalization>(forms, end, wide);
}

}  // namespace narrowgauge
