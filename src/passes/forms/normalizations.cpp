// SPDX-License-Identifier: Apache-2.0
// (x - mean) / sqrt(variance + epsilon) over the last axes as LayerNormalization (Ba et al. 2016),
// x / sqrt(mean of squares + epsilon) as RMSNormalization (Zhang and Sennrich 2019).
#include "ops/math/arithmetic.h"
#include "ops/math/exponential.h"
#include "ops/math/reduce.h"
#include "ops/nn/layer_normalization.h"
#include "ops/nn/rms_normalization.h"
#include "ops/shape/axes.h"
#include "passes/forms/form.h"

namespace narrowgauge {

namespace {

// The first of the axes of a mean that are the last ones of x; nothing for other axes.
std::optional<std::int64_t> first_axis(const Forms& forms, const Node& mean) {
  const std::size_t rank = forms.shape(mean.input(0)).size();
  const bool given = mean.inputs.size() > 1 && !mean.input(1).is_absent();
  const Tensor* const axes = given ? forms.graph().constant_value(mean.input(1)) : nullptr;
  if (!axes || axes->size() == 0 || mean.as<ReduceMean>().keepdims == 0) return {};
  std::vector<bool> mask(rank);
  for (const std::size_t axis : normalize_axes("ReduceMean", integers_of(*axes), rank))
    mask[axis] = true;
  const auto first = rank - static_cast<std::size_t>(axes->size());
  for (std::size_t i = first; i < rank; ++i)
    if (!mask[i]) return {};
  return static_cast<std::int64_t>(first);
}

// What is squared; nothing for another value.
std::optional<Value> root_of_square(const Forms& forms, Value value) {
  if (const Node* const product = forms.made_by<Mul>(value))
    return product->input(0) == product->input(1) ? std::optional(product->input(0)) : std::nullopt;
  const Node* const power = forms.made_by<Pow>(value);
  return power && forms.is(power->input(1), 2) ? std::optional(power->input(0)) : std::nullopt;
}

// sqrt(mean(square of `of`) + epsilon)
struct Deviation {
  Value of;
  std::int64_t axis;
  double epsilon;
};

std::optional<Deviation> deviation_of(const Forms& forms, Value value) {
  const Node* const root = forms.made_by<Sqrt>(value);
  if (!root) return {};
  return find_in<Add>(forms, root->input(0), [&](Value a, Value b) -> std::optional<Deviation> {
    const Node* const mean = forms.made_by<ReduceMean>(a);
    const auto epsilon = forms.number(b);
    if (!mean || !epsilon) return {};
    const auto of = root_of_square(forms, mean->input(0));
    const auto axis = first_axis(forms, *mean);
    if (!of || !axis) return {};
    return Deviation{*of, *axis, *epsilon};
  });
}

// A value divided by its deviation.
struct Normalized {
  Value value;
  Deviation by;
};

std::optional<Normalized> normalized_of(const Forms& forms, Value value) {
  if (const Node* const quotient = forms.made_by<Div>(value))
    if (const auto by = deviation_of(forms, quotient->input(1)))
      return Normalized{quotient->input(0), *by};
  return find_in<Mul>(forms, value, [&](Value a, Value b) -> std::optional<Normalized> {
    const Node* const inverse = forms.made_by<Reciprocal>(b);
    const Node* const quotient = forms.made_by<Div>(b);
    std::optional<Deviation> by;
    if (inverse) by = deviation_of(forms, inverse->input(0));
    if (quotient && forms.is(quotient->input(0), 1)) by = deviation_of(forms, quotient->input(1));
    return by ? std::optional(Normalized{a, *by}) : std::nullopt;
  });
}

// x, where the value is x minus its mean over the axes from `axis` on.
std::optional<Value> centred(const Forms& forms, Value value, std::int64_t axis) {
  const Node* const difference = forms.made_by<Sub>(value);
  const Node* const mean = difference ? forms.made_by<ReduceMean>(difference->input(1)) : nullptr;
  const bool same = mean && mean->input(0) == difference->input(0);
  return same && first_axis(forms, *mean) == axis ? std::optional(difference->input(0))
                                                  : std::nullopt;
}

bool spans_axes(const Forms& forms, Value parameter, Value x, std::int64_t axis) {
  const Shape& shape = forms.shape(x);
  if (axis >= std::ssize(shape)) return false;  // another value than the deviation is of
  return forms.graph().type(parameter).dtype == forms.graph().type(x).dtype &&
         forms.shape(parameter) == Shape(shape.begin() + axis, shape.end());
}

struct Scaled {
  Normalized normalized;
  Value scale;
};

std::optional<Scaled> scaled_of(const Forms& forms, Value value) {
  return find_in<Mul>(forms, value, [&](Value a, Value scale) -> std::optional<Scaled> {
    const auto normalized = normalized_of(forms, a);
    if (!normalized || !spans_axes(forms, scale, normalized->value, normalized->by.axis)) return {};
    return Scaled{*normalized, scale};
  });
}

std::optional<Value> layer_normalization(Forms& forms, const Scaled& scaled, Value bias) {
  const auto& [value, by] = scaled.normalized;
  const auto x = by.of == value ? centred(forms, value, by.axis) : std::nullopt;
  if (!x || (!bias.is_absent() && !spans_axes(forms, bias, *x, by.axis))) return {};
  Values inputs{forms.mapped(*x), forms.mapped(scaled.scale)};
  if (!bias.is_absent()) inputs.push_back(forms.mapped(bias));
  return forms.made().add(LayerNormalization{.axis = by.axis, .epsilon = by.epsilon}, inputs);
}

}  // namespace

std::optional<Value> normalization_form(Forms& forms, int node) {
  const Value end{node, 0};
  const auto with_bias = find_in<Add>(forms, end, [&](Value a, Value bias) {
    const auto scaled = scaled_of(forms, a);
    return scaled ? layer_normalization(forms, *scaled, bias) : std::nullopt;
  });
  if (with_bias) return with_bias;
  const auto scaled = scaled_of(forms, end);
  if (!scaled) return {};
  if (const auto made = layer_normalization(forms, *scaled, absent)) return made;
  const auto& [value, by] = scaled->normalized;
  if (by.of != value) return {};
  return forms.made().add(RMSNormalization{.axis = by.axis, .epsilon = by.epsilon},
                          {forms.mapped(value), forms.mapped(scaled->scale)});
}

}  // namespace narrowgauge
