// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify/fold_normalizations.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "base/indexed_vector.h"
#include "ir/readers.h"
#include "ops/convolution/conv.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/cast.h"
#include "ops/pointwise/expression.h"
#include "ops/shape/reshape.h"
#include "ops/shape/views.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

// What a plan's cast to a narrow format was made from.
Value before_cast(const Graph& graph, Value value) {
  const Node& node = graph.producer(value);
  return node.is<Cast>() ? node.inputs[0] : value;
}

// The nodes that a value is computed from by nothing but casts and other shapes.
std::set<int> before_shapes(const Graph& graph, Value value) {
  std::set<int> seen, found;
  std::vector<int> open{value.node};
  while (!open.empty()) {
    const int index = open.back();
    open.pop_back();
    if (!seen.insert(index).second) continue;
    const Node& node = graph.node(index);
    if (!node.is<Cast>() && !node.is<Unsqueeze>() && !node.is<Reshape>() && !node.is<ReshapeTo>())
      found.insert(index);
    else
      for (const Value input : node.inputs)
        if (!input.is_absent()) open.push_back(input.node);
  }
  return found;
}

bool is_fixed_source(const Graph& graph, const Node& node) {
  if (!node.is<StateValue>()) return node.is<Constant>();
  const State* const state = graph.find_state(node.name);
  const bool is_weight = state && state->role != Role::control && state->role != Role::derived;
  return is_weight && state->next == state->current;
}

bool is_fixed(const Graph& graph, Value value) {
  return std::ranges::all_of(before_shapes(graph, value), [&](int source) {
    return is_fixed_source(graph, graph.node(source));
  });
}

// The operand of a Mul or an Add that is a number for each channel of the other one; absent: none.
Value number_of_channels(const Graph& graph, const Node& node) {
  if (!node.is<Mul>() && !node.is<Add>()) return absent;
  const Shape& y = node.outputs[0].type.shape;
  for (const Value value : node.inputs) {
    const Shape& shape = graph.type(value).shape;
    if (y.size() < 3 || shape.size() + 1 < y.size() || shape.size() > y.size()) continue;
    Shape expected(shape.size(), 1);
    expected[shape.size() + 1 - y.size()] = y[1];
    if (shape == expected && is_known(shape) && is_fixed(graph, value)) return value;
  }
  return absent;
}

// Vectors over the channels, in f32.
class Affine {
 public:
  explicit Affine(Rebuild& rebuild) : rebuild_(rebuild), rewriting_(rebuild.graph(), {}, {}) {}

  // A normalization is x * factor + offset.
  Expression factor(const Node& norm) {
    const double epsilon = norm.as<BatchNormalization>().epsilon;
    return wide(norm.inputs[1]) / sqrt(wide(norm.inputs[4]) + epsilon);
  }
  // The offset of the normalization, or of that of x + shift, where a shift is given.
  Expression offset(const Node& norm, Expression factor, std::optional<Expression> shift = {}) {
    const Expression mean = wide(norm.inputs[3]);
    const Expression moved = shift ? *shift - mean : -mean;
    return wide(norm.inputs[2]) + moved * factor;
  }
  Expression numbers(const Node& node) {
    const Expression given = wide(number_of_channels(rebuild_.source(), node));
    return given.apply(ReshapeTo{{node.outputs[0].type.shape[1]}});
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
};

// What a chain of normalizations, products and sums makes of x: x * factor + offset.
struct ChannelNumbers {
  std::optional<Expression> factor, offset;

  void follow(Affine& affine, const Node& node) {
    if (node.is<Add>()) {
      const Expression numbers = affine.numbers(node);
      offset = offset ? *offset + numbers : numbers;
      return;
    }
    const bool is_norm = node.is<BatchNormalization>();
    const Expression of_node = is_norm ? affine.factor(node) : affine.numbers(node);
    factor = factor ? *factor * of_node : of_node;
    if (is_norm)
      offset = affine.offset(node, of_node, offset);
    else if (offset)
      offset = *offset * of_node;
  }
};

// The inputs of a convolution that computes the nodes behind it too.
Values folded_inputs(Rebuild& rebuild, const Node& conv, const std::vector<int>& chain) {
  Affine affine(rebuild);
  Rewriting& r = affine.rewriting();
  const auto narrow = [&](Value value) {
    const DType dtype = conv.outputs[0].type.dtype;
    return dtype == DType::f32 ? value : r.add(Cast{.to = dtype}, {value});
  };
  ChannelNumbers numbers;
  if (conv.inputs.size() > 2 && !conv.inputs[2].is_absent())
    numbers.offset = affine.wide(conv.inputs[2]);
  for (const int node : chain) numbers.follow(affine, rebuild.source().node(node));
  Values inputs{rebuild.mapped(conv.inputs[0]), rebuild.mapped(conv.inputs[1])};
  if (numbers.factor) {
    const Expression weights = affine.wide(conv.inputs[1]);
    inputs[1] = narrow(weights * Affine::column(*numbers.factor, r, r.shape(weights).size()));
  }
  if (numbers.offset) inputs.push_back(narrow(*numbers.offset));
  return inputs;
}

// The normalization as two elementwise ops.
Value in_two_ops(Rebuild& rebuild, const Node& norm) {
  Affine affine(rebuild);
  Rewriting& r = affine.rewriting();
  const Expression x(r, rebuild.mapped(norm.inputs[0])), factor = affine.factor(norm);
  const std::size_t axes = r.shape(x).size() - 1;  // the channels' and those behind it
  return x * Affine::column(factor, r, axes) + Affine::column(affine.offset(norm, factor), r, axes);
}

bool may_be_folded(const Graph& graph, const Node& conv) {
  const DType dtype = conv.outputs[0].type.dtype;
  return conv.is<Conv>() && (dtype == DType::f32 || dtype == DType::bf16) &&
         !is_simulated(conv.math) && is_known(graph.type(conv.inputs[1]).shape) &&
         std::all_of(conv.inputs.begin() + 1, conv.inputs.end(),
                     [&](Value value) { return value.is_absent() || is_fixed(graph, value); });
}

// Whether a node is a normalization by statistics that are as they are, as are its other vectors.
bool is_stored(const Graph& graph, const Node& node) {
  return node.is<BatchNormalization>() && node.as<BatchNormalization>().training_mode == 0 &&
         std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](Value value) { return is_fixed(graph, value); });
}

// The nodes behind a convolution that go into it.
std::vector<int> chain_behind(const Graph& graph, const Readers& readers, int conv) {
  std::vector<int> chain;
  if (!may_be_folded(graph, graph.node(conv))) return chain;
  const DType dtype = graph.node(conv).outputs[0].type.dtype;
  for (int at = readers.only({conv, 0}); at >= 0; at = readers.only({at, 0})) {
    const Node& node = graph.node(at);
    const bool fits = is_stored(graph, node) || !number_of_channels(graph, node).is_absent();
    if (!fits || node.outputs[0].type.dtype != dtype) break;
    chain.push_back(at);
  }
  return chain;
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
      : graph_(graph),
        readers_(graph),
        rebuild_(graph),
        folded_(graph.nodes().size()),
        waits_(graph.nodes().size()) {}

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
    const std::vector<int> chain = chain_behind(graph_, readers_, index);
    if (!chain.empty()) {  // stands where the last of them stood, whose operands are there then
      folded_[chain.back()] = {index, chain};
      for (const int node : chain) waits_[node] = true;
    } else if (!folded_[index].chain.empty()) {
      fold(folded_[index], index);
    } else if (waits_[index]) {
      return;
    } else if (joins_its_reader(graph_, readers_, index)) {
      const Node& node = graph_.node(index);
      rebuild_.map({index, 0}, named_after(node, [&] { return in_two_ops(rebuild_, node); }));
    } else {
      rebuild_.copy(index);
    }
  }

  struct Fold {
    int conv = -1;
    std::vector<int> chain{};
  };

  void fold(const Fold& all, int last) {
    const Node& node = graph_.node(all.conv);
    rebuild_.copy(all.conv, node.attributes,
                  named_after(node, [&] { return folded_inputs(rebuild_, node, all.chain); }));
    rebuild_.map({last, 0}, rebuild_.mapped({all.conv, 0}));
  }

  const Graph& graph_;
  const Readers readers_;
  Rebuild rebuild_;
  IndexedVector<int, Fold> folded_;  // at the last node of a chain
  IndexedVector<int, bool> waits_;   // in a chain
};

}  // namespace

Graph fold_normalizations(const Graph& graph) { return Folder(graph).run(); }

}  // namespace narrowgauge
