// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_normalizations.h"

#include <algorithm>
#include <vector>

#include "ir/readers.h"
#include "ops/elementwise/expression.h"
#include "ops/math/cast.h"
#include "ops/nn/batch_normalization.h"
#include "ops/nn/conv.h"
#include "ops/shape/reshape.h"
#include "passes/rebuild.h"

namespace narrowgauge {

namespace {

// What a plan's cast to a narrow format was made from.
Value before_cast(const Graph& graph, Value value) {
  const Node& node = graph.producer(value);
  return node.is<Cast>() ? node.inputs[0] : value;
}

bool lasts(const Graph& graph, Value value) {
  const Node& node = graph.producer(before_cast(graph, value));
  if (!node.is<StateValue>()) return node.is<Constant>();
  const State* const state = graph.find_state(node.name);
  const bool is_weight =
      state && (state->role == Role::parameter || state->role == Role::statistic);
  return is_weight && state->next == state->current;
}

// The weights and vectors of a convolution and its normalization, in f32.
class Folding {
 public:
  Folding(Rebuild& rebuild, const Node& conv, const Node& norm)
      : rebuild_(rebuild), conv_(conv), norm_(norm), rewriting_(rebuild.graph(), {}, {}) {}

  Values inputs() {
    const Expression variance = wide(norm_.inputs[4]), mean = wide(norm_.inputs[3]);
    const double epsilon = norm_.as<BatchNormalization>().epsilon;
    const Expression factor = wide(norm_.inputs[1]) / sqrt(variance + epsilon);
    const Expression weights = wide(conv_.inputs[1]);
    Shape column(rewriting_.shape(weights).size(), 1);
    column[0] = rewriting_.shape(weights)[0];
    const Expression offset = has_bias() ? wide(conv_.inputs[2]) - mean : -mean;
    return {rebuild_.mapped(conv_.inputs[0]), narrow(weights * factor.apply(ReshapeTo{column})),
            narrow(wide(norm_.inputs[2]) + offset * factor)};
  }

 private:
  bool has_bias() const { return conv_.inputs.size() > 2 && !conv_.inputs[2].is_absent(); }

  Expression wide(Value value) {
    const Value source = rebuild_.mapped(before_cast(rebuild_.source(), value));
    const bool is_wide = rewriting_.type(source).dtype == DType::f32;
    return {rewriting_, is_wide ? source : rewriting_.add(Cast{.to = DType::f32}, {source})};
  }
  Value narrow(Value value) {
    const DType dtype = conv_.outputs[0].type.dtype;
    return dtype == DType::f32 ? value : rewriting_.add(Cast{.to = dtype}, {value});
  }

  Rebuild& rebuild_;
  const Node &conv_, &norm_;
  Rewriting rewriting_;
};

bool may_be_folded(const Graph& graph, const Node& conv) {
  const DType dtype = conv.outputs[0].type.dtype;
  return conv.is<Conv>() && (dtype == DType::f32 || dtype == DType::bf16) &&
         !is_simulated(conv.math) && is_known(graph.type(conv.inputs[1]).shape) &&
         std::all_of(conv.inputs.begin() + 1, conv.inputs.end(),
                     [&](Value value) { return value.is_absent() || lasts(graph, value); });
}

// The normalization that goes into a convolution; -1: none.
int normalization_of(const Graph& graph, const Readers& readers, int conv) {
  if (!may_be_folded(graph, graph.node(conv))) return -1;
  const int reader = readers.only({conv, 0});
  if (reader < 0) return -1;
  const Node& node = graph.node(reader);
  const bool fits = node.is<BatchNormalization>() &&
                    node.as<BatchNormalization>().training_mode == 0 &&
                    node.outputs[0].type.dtype == graph.node(conv).outputs[0].type.dtype &&
                    std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                                [&](Value value) { return lasts(graph, value); });
  return fits ? reader : -1;
}

}  // namespace

Graph fold_normalizations(const Graph& graph) {
  const Readers readers(graph);
  Rebuild rebuild(graph);
  std::vector<int> convolution(graph.nodes().size(), -1);  // that a normalization goes into
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) {
    const int norm = normalization_of(graph, readers, i);
    if (norm >= 0) {  // stands where the normalization stood, whose operands are there then
      convolution[static_cast<std::size_t>(norm)] = i;
      continue;
    }
    const int folded = convolution[static_cast<std::size_t>(i)];
    if (folded < 0) {
      rebuild.copy(i);
      continue;
    }
    const Node& node = graph.node(folded);
    const NodeScope around = rebuild.graph().scope();
    rebuild.graph().set_scope({.prefix = node.full_name() + ".", .origin = node.origin});
    const Values inputs = Folding(rebuild, node, graph.node(i)).inputs();
    rebuild.graph().set_scope(around);
    rebuild.copy(folded, node.attributes, inputs);
    rebuild.map({i, 0}, rebuild.mapped({folded, 0}));
  }
  return rebuild.finish();
}

}  // namespace narrowgauge
