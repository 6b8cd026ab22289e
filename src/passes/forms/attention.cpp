// SPDX-License-Identifier: Apache-2.0
// softmax(scale q k^T + mask) v over [N, heads, T, width] as Attention, which takes heads side by
// side in the last axis (Vaswani et al. 2017).
#include "ops/nn/attention.h"

#include "base/unloading.h"
#include "ops/math/matmul.h"
#include "ops/nn/softmax.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/comparison.h"
#include "ops/pointwise/where.h"
#include "ops/shape/reshape.h"
#include "ops/shape/transpose.h"
#include "ops/shape/views.h"
#include "passes/forms/form.h"

namespace narrowgauge {

namespace {

const Dims& heads_beside_rows = immortal<Dims>(Dims{0, 2, 1, 3});
const Dims& last_axes_exchanged = immortal<Dims>(Dims{0, 1, 3, 2});

bool is_transposed(const Forms& forms, Value value, const Dims& perm) {
  const Node* const node = forms.made_by<Transpose>(value);
  return node && node->as<Transpose>().perm == perm;
}

// The scores scale * q k^T + mask of an attention.
struct Scores {
  Value q, k;                   // [N, heads, T, width], [N, heads, S, width]
  bool k_is_rows_last = false;  // k is [N, T, heads, width], transposed at once with the exchange
  double scale = 1;
  Value mask = absent;
};

// A value without the numbers that multiply or divide it.
Value unscaled(const Forms& forms, Value value, double& scale) {
  while (true) {
    if (const Node* const quotient = forms.made_by<Div>(value))
      if (const auto divisor = forms.number(quotient->input(1))) {
        scale /= *divisor;
        value = quotient->input(0);
        continue;
      }
    const auto factor = find_in<Mul>(forms, value, [&](Value a, Value b) {
      const auto number = forms.number(b);
      return number ? std::optional(std::pair(a, *number)) : std::nullopt;
    });
    if (!factor) return value;
    scale *= factor->second;
    value = factor->first;
  }
}

std::optional<Scores> product_of(const Forms& forms, Value value) {
  Scores scores;
  const Node* const product = forms.made_by<MatMul>(unscaled(forms, value, scores.scale));
  if (!product) return {};
  scores.q = unscaled(forms, product->input(0), scores.scale);
  const Value exchanged = unscaled(forms, product->input(1), scores.scale);
  scores.k_is_rows_last = is_transposed(forms, exchanged, {0, 2, 3, 1});
  if (!scores.k_is_rows_last && !is_transposed(forms, exchanged, last_axes_exchanged)) return {};
  scores.k = forms.graph().producer(exchanged).input(0);
  return scores;
}

std::optional<Scores> scores_of(const Forms& forms, Value value) {
  if (auto scores = product_of(forms, value)) return scores;
  return find_in<Add>(forms, value, [&](Value a, Value mask) {
    auto scores = product_of(forms, a);
    if (scores) scores->mask = mask;
    return scores;
  });
}

// Whether a mask broadcasts to the scores without changing their shape.
bool fits(const Forms& forms, Value mask, const Shape& scores) {
  const Shape& shape = forms.shape(mask);
  if (shape.size() > scores.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Dim& dim = shape[shape.size() - 1 - i];
    if (dim != Dim(1) && dim != scores[scores.size() - 1 - i]) return false;
  }
  return true;
}

bool is_reshape(const Node& node) { return node.is<Reshape>() || node.is<ReshapeTo>(); }

// What a value of the new graph was before a Reshape, if it had this shape there.
std::optional<Value> undone(Forms& forms, Value value, const Shape& wanted) {
  const Node& reshape = forms.made().producer(value);
  if (!is_reshape(reshape) || forms.made().type(reshape.input(0)).shape != wanted) return {};
  return reshape.input(0);
}

// [N, heads, T, width] of the old graph as [N, T, heads * width] of the new one.
Value joined(Forms& forms, Value value, bool rows_first) {
  const Shape& shape = forms.shape(value);
  const Shape& own = shape;
  const Shape wanted =
      rows_first ? Shape{own[0], own[1], own[2] * own[3]} : Shape{own[0], own[2], own[1] * own[3]};
  Value mapped = forms.mapped(value);
  if (!rows_first) {
    const Node& node = forms.made().producer(mapped);
    const bool same = node.is<Transpose>() && node.as<Transpose>().perm == heads_beside_rows;
    mapped =
        same ? node.input(0) : forms.made().add(Transpose{.perm = heads_beside_rows}, {mapped});
  }
  if (const auto before = undone(forms, mapped, wanted)) return *before;
  return forms.made().add(ReshapeTo{wanted}, {mapped});
}

// The shares of keys, also where PyTorch's exporter makes those of a query that sees no key 0, as
// Attention does.
const Node* softmax_of(const Forms& forms, Value shares) {
  const Node* const guard = forms.made_by<Where>(shares);
  if (!guard || !forms.is(guard->input(1), 0)) return forms.made_by<Softmax>(shares);
  const Node* const nothing = forms.made_by<IsNaN>(guard->input(0));
  const bool same = nothing && nothing->input(0) == guard->input(2);
  return same ? forms.made_by<Softmax>(guard->input(2)) : nullptr;
}

}  // namespace

std::optional<Value> attention_form(Forms& forms, int node) {
  const Value end{node, 0};
  const Node* const product = forms.made_by<MatMul>(end);
  const Node* const softmax = product ? softmax_of(forms, product->input(0)) : nullptr;
  if (!softmax || forms.shape(end).size() != 4) return {};
  const std::int64_t axis = softmax->as<Softmax>().axis;
  if (axis != -1 && axis != 3) return {};
  const auto scores = scores_of(forms, softmax->input(0));
  if (!scores) return {};
  const Shape &q = forms.shape(scores->q), &k = forms.shape(scores->k);
  const Value v = product->input(1);
  if (q.size() != 4 || k.size() != 4 || forms.shape(v).size() != 4 || !q[1].is_known()) return {};
  const Dim heads = scores->k_is_rows_last ? k[2] : k[1];
  if (heads != q[1] || forms.shape(v)[1] != q[1] || forms.shape(v)[3] != q[3]) return {};
  const Shape scores_shape = forms.shape(softmax->input(0));
  if (!scores->mask.is_absent() && !fits(forms, scores->mask, scores_shape)) return {};
  Values inputs{joined(forms, scores->q, false), joined(forms, scores->k, scores->k_is_rows_last),
                joined(forms, v, false)};
  if (!scores->mask.is_absent()) inputs.push_back(forms.mapped(scores->mask));
  const Value y =
      forms.made().add(Attention{.q_num_heads = q[1].value(), .scale = scores->scale}, inputs);
  const Value apart = forms.made().add(ReshapeTo{{q[0], q[2], q[1], q[3]}}, {y});
  return forms.put(end, Transpose{.perm = heads_beside_rows}, {apart});
}

std::optional<Value> transposition_form(Forms& forms, int node) {
  const Node* const outer = forms.made_by<Transpose>(Value{node, 0});
  if (!outer) return {};
  const Node& inner = forms.producer_of_mapped(outer->input(0));
  if (!inner.is<Transpose>()) return {};
  const Dims &first = inner.as<Transpose>().perm, &second = outer->as<Transpose>().perm;
  if (first.empty() || first.size() != second.size()) return {};
  for (std::size_t i = 0; i < second.size(); ++i)
    if (first.at(static_cast<std::size_t>(second[i])) != static_cast<std::int64_t>(i)) return {};
  return inner.input(0);
}

std::optional<Value> reshape_form(Forms& forms, int node) {
  const Node& reshape = forms.graph().node(node);
  if (!is_reshape(reshape)) return {};
  return undone(forms, forms.mapped(reshape.input(0)), forms.shape({node, 0}));
}

}  // namespace narrowgauge
