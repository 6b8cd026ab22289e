// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_normalizations.h"

#include <algorithm>

#include "base/indexed_vector.h"
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

// A normalization as y = x * factor + offset, in f32, with vectors over the channels.
class Affine {
 public:
  Affine(Rebuild& rebuild, const Node& norm)
      : rebuild_(rebuild), rewriting_(rebuild.graph(), {}, {}), norm_(norm) {}

  Expression factor() {
    const double epsilon = norm_.as<BatchNormalization>().epsilon;
    return wide(norm_.inputs[1]) / sqrt(wide(norm_.inputs[4]) + epsilon);
  }
  // That of x + shift, where a shift is given.
  Expression offset(Expression factor, Value shift = absent) {
    const Expression mean = wide(norm_.inputs[3]);
    const Expression moved = shift.is_absent() ? -mean : wide(shift) - mean;
    return wide(norm_.inputs[2]) + moved * factor;
  }
  // The vector along the first of so many axes; the others have size 1.
  static Expression column(Expression vector, Rewriting& r, std::size_t rank) {
    Shape shape(rank, 1);
    shape[0] = r.shape(vector)[0];
    return vector.apply(ReshapeTo{shape});
  }
  Expression wide(Value value) {
    const Value source = rebuild_.mapped(before_cast(rebuild_.source(), value));
    const bool is_wide = rewriting_.type(source).dtype == DType::f32;
    return {rewriting_, is_wide ? source : rewriting_.add(Cast{.to = DType::f32}, {source})};
  }
  Rewriting& rewriting() { return rewriting_; }

 private:
  Rebuild& rebuild_;
  Rewriting rewriting_;
  const Node& norm_;
};

// The inputs of a convolution that computes its normalization too.
Values folded_inputs(Rebuild& rebuild, const Node& conv, const Node& norm) {
  Affine affine(rebuild, norm);
  Rewriting& r = affine.rewriting();
  const auto narrow = [&](Value value) {
    const DType dtype = conv.outputs[0].type.dtype;
    return dtype == DType::f32 ? value : r.add(Cast{.to = dtype}, {value});
  };
  const Expression factor = affine.factor(), weights = affine.wide(conv.inputs[1]);
  const Value bias = conv.inputs.size() > 2 ? conv.inputs[2] : absent;
  const std::size_t rank = r.shape(weights).size();
  return {rebuild.mapped(conv.inputs[0]), narrow(weights * Affine::column(factor, r, rank)),
          narrow(affine.offset(factor, bias))};
}

// The normalization as two elementwise ops.
Value in_two_ops(Rebuild& rebuild, const Node& norm) {
  Affine affine(rebuild, norm);
  Rewriting& r = affine.rewriting();
  const Expression x(r, rebuild.mapped(norm.inputs[0])), factor = affine.factor();
  const std::size_t axes = r.shape(x).size() - 1;  // the channels' and those behind it
  return x * Affine::column(factor, r, axes) + Affine::column(affine.offset(factor), r, axes);
}

bool may_be_folded(const Graph& graph, const Node& conv) {
  const DType dtype = conv.outputs[0].type.dtype;
  return conv.is<Conv>() && (dtype == DType::f32 || dtype == DType::bf16) &&
         !is_simulated(conv.math) && is_known(graph.type(conv.inputs[1]).shape) &&
         std::all_of(conv.inputs.begin() + 1, conv.inputs.end(),
                     [&](Value value) { return value.is_absent() || lasts(graph, value); });
}

// Whether a node is a normalization by statistics that are as they are, as are its other vectors.
bool is_stored(const Graph& graph, const Node& node) {
  return node.is<BatchNormalization>() && node.as<BatchNormalization>().training_mode == 0 &&
         std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](Value value) { return lasts(graph, value); });
}

// The normalization that goes into a convolution; -1: none.
int normalization_of(const Graph& graph, const Readers& readers, int conv) {
  if (!may_be_folded(graph, graph.node(conv))) return -1;
  const int reader = readers.only({conv, 0});
  if (reader < 0) return -1;
  const Node& node = graph.node(reader);
  const bool fits = is_stored(graph, node) &&
                    node.outputs[0].type.dtype == graph.node(conv).outputs[0].type.dtype;
  return fits ? reader : -1;
}

// Whether a normalization is better computed with the elementwise op that alone reads it.
bool joins_its_reader(const Graph& graph, const Readers& readers, int index) {
  const Node& node = graph.node(index);
  if (!is_stored(graph, node) || node.outputs[0].type.dtype != DType::f32) return false;
  const int reader = readers.only({index, 0});
  return reader >= 0 && graph.node(reader).op->elementwise.has_value();
}

class Folder {
 public:
  explicit Folder(const Graph& graph)
      : graph_(graph), readers_(graph), rebuild_(graph), convolution_(graph.nodes().size(), -1) {}

  Graph run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) place(i);
    return rebuild_.finish();
  }

 private:
  // What `make` gives; the nodes that it adds have names that begin with the node's.
  template <class Make>
  auto named_after(const Node& node, const Make& make) {
    const NodeScope around = rebuild_.graph().scope();
    rebuild_.graph().set_scope({.prefix = node.full_name() + ".", .origin = node.origin});
    auto made = make();
    rebuild_.graph().set_scope(around);
    return made;
  }

  void place(int index) {
    const int norm = normalization_of(graph_, readers_, index);
    if (norm >= 0) {  // stands where the normalization stood, whose operands are there then
      convolution_[norm] = index;
    } else if (convolution_[index] >= 0) {
      fold(convolution_[index], index);
    } else if (joins_its_reader(graph_, readers_, index)) {
      const Node& node = graph_.node(index);
      rebuild_.map({index, 0}, named_after(node, [&] { return in_two_ops(rebuild_, node); }));
    } else {
      rebuild_.copy(index);
    }
  }

  void fold(int conv, int norm) {
    const Node& node = graph_.node(conv);
    rebuild_.copy(conv, node.attributes, named_after(node, [&] {
                    return folded_inputs(rebuild_, node, graph_.node(norm));
                  }));
    rebuild_.map({norm, 0}, rebuild_.mapped({conv, 0}));
  }

  const Graph& graph_;
  const Readers readers_;
  Rebuild rebuild_;
  IndexedVector<int, int> convolution_;  // that a normalization goes into; -1: none
};

}  // namespace

Graph fold_normalizations(const Graph& graph) { return Folder(graph).run(); }

}  // namespace narrowgauge
