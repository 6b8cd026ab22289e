// SPDX-License-Identifier: Apache-2.0
// (x - mean) / sqrt(variance + epsilon) over the last axes as LayerNormalization (Ba et al. 2016),
// over the channels of a group as GroupNormalization (Wu and He 2018); x / sqrt(mean of squares +
// epsilon) as RMSNormalization (Zhang and Sennrich 2019).
#include "ops/axes/axes.h"
#include "ops/normalization/group_normalization.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/normalization/rms_normalization.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/exponential.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/reshape.h"
#include "ops/shape/views.h"
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

// The value that is squared; nothing where none is.
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

std::optional<Value> layer_normalization(Forms& forms, Value end, const Scaled& scaled,
                                         Value bias) {
  const auto& [value, by] = scaled.normalized;
  const auto x = by.of == value ? centred(forms, value, by.axis) : std::nullopt;
  if (!x || (!bias.is_absent() && !spans_axes(forms, bias, *x, by.axis))) return {};
  Values inputs{forms.mapped(*x), forms.mapped(scaled.scale)};
  if (!bias.is_absent()) inputs.push_back(forms.mapped(bias));
  return forms.put(end, LayerNormalization{.axis = by.axis, .epsilon = by.epsilon}, inputs);
}

// What a reshape reads; the value itself where none made it.
Value before_reshape(const Forms& forms, Value value) {
  if (const Node* const reshape = forms.made_by<Reshape>(value)) return reshape->input(0);
  if (const Node* const reshape = forms.made_by<ReshapeTo>(value)) return reshape->input(0);
  return value;
}

bool is_filled(const Forms& forms, Value value, double number) {
  const Tensor* const tensor = forms.graph().constant_value(value);
  for (std::int64_t i = 0; tensor && i < tensor->size(); ++i)
    if (tensor->at(i) != number) return false;
  return tensor;
}

// Channels normalized by groups.
struct Grouped {
  Value rows;  // [N, groups, ...]
  double epsilon;
  Value scale = absent, bias = absent;  // [groups]; absent: 1 and 0
};

std::optional<Grouped> grouped_of(const Forms& forms, Value value) {
  if (const Node* const instance = forms.made_by<InstanceNormalization>(value)) {
    Grouped grouped{instance->input(0), instance->as<InstanceNormalization>().epsilon};
    if (!is_filled(forms, instance->input(1), 1)) grouped.scale = instance->input(1);
    if (!is_filled(forms, instance->input(2), 0)) grouped.bias = instance->input(2);
    return grouped;
  }
  const auto normalized = normalized_of(forms, value);
  if (!normalized || normalized->by.axis != 2 || normalized->by.of != normalized->value) return {};
  const auto rows = centred(forms, normalized->value, 2);
  return rows ? std::optional(Grouped{*rows, normalized->by.epsilon}) : std::nullopt;
}

// x, which lies as `back` does, where it is normalized by whole groups of its channels.
std::optional<Value> grouped_source(const Forms& forms, const Grouped& grouped, Value back) {
  const Value x = before_reshape(forms, grouped.rows);
  const Shape &rows = forms.shape(grouped.rows), &shape = forms.shape(x);
  const bool whole = shape == forms.shape(back) && shape.size() >= 3 && rows.size() >= 3 &&
                     rows[0] == shape[0] && rows[1].is_known() && shape[1].is_known() &&
                     rows[1].value() > 0 && shape[1].value() % rows[1].value() == 0;
  return whole ? std::optional(x) : std::nullopt;
}

// Whether a parameter is one number a channel of x: [C, 1, ...], or that after axes of one.
bool is_of_channels(const Forms& forms, Value parameter, Value x) {
  const Shape& shape = forms.shape(parameter);
  const auto rank = std::ssize(forms.shape(x)), given = std::ssize(shape);
  if (given < rank - 1 || given > rank ||
      forms.graph().type(parameter).dtype != forms.graph().type(x).dtype)
    return false;
  for (std::ptrdiff_t i = 0; i < given; ++i) {
    const bool channel = i == given - (rank - 1);
    if (shape[static_cast<std::size_t>(i)] != (channel ? forms.shape(x)[1] : Dim(1))) return false;
  }
  return true;
}

// The parameters of a normalization of groups as vectors of channels, in the new graph.
class ChannelVectors {
 public:
  ChannelVectors(Forms& forms, const Grouped& grouped, Value x)
      : forms_(forms),
        grouped_(grouped),
        dtype_(forms.graph().type(x).dtype),
        channels_(forms.shape(x)[1].value()),
        groups_(forms.shape(grouped.rows)[1].value()) {}

  // Scale and bias of the groups alone.
  Value scale() const { return grouped_.scale.is_absent() ? filled(1) : spread(grouped_.scale); }
  Value bias() const { return grouped_.bias.is_absent() ? filled(0) : spread(grouped_.bias); }
  // Scale and bias of the groups, joined with the parameters of channels that follow them.
  Value scale(Value parameter) const {
    const Value vector = of_channels(parameter);
    if (grouped_.scale.is_absent()) return vector;
    return forms_.made().add(Mul{}, {spread(grouped_.scale), vector});
  }
  Value bias(Value parameter, Value scale) const {
    const Value vector = of_channels(parameter);
    if (grouped_.bias.is_absent()) return vector;
    const Value scaled = forms_.made().add(Mul{}, {spread(grouped_.bias), of_channels(scale)});
    return forms_.made().add(Add{}, {scaled, vector});
  }
  std::int64_t groups() const { return groups_; }

 private:
  Value reshaped(Value value, Dims dims) const {
    return forms_.made().add(ReshapeTo{Shape(dims.begin(), dims.end())}, {value});
  }
  Value of_channels(Value parameter) const {
    return reshaped(forms_.mapped(parameter), {channels_});
  }
  Value spread(Value parameter) const {
    const Value column = reshaped(forms_.mapped(parameter), {groups_, 1});
    const Value wide = forms_.made().add(ExpandTo{Shape{groups_, channels_ / groups_}}, {column});
    return reshaped(wide, {channels_});
  }
  Value filled(double number) const {
    Tensor tensor(dtype_, {channels_});
    for (std::int64_t c = 0; c < channels_; ++c) tensor.set(c, number);
    return forms_.made().constant(std::move(tensor));
  }

  Forms& forms_;
  const Grouped& grouped_;
  DType dtype_;
  std::int64_t channels_, groups_;
};

std::optional<Value> with_channel_parameters(Forms& forms, Value end) {
  return find_in<Add>(forms, end, [&](Value a, Value bias) {
    return find_in<Mul>(forms, a, [&](Value back, Value scale) -> std::optional<Value> {
      if (forms.shape(back).size() < 3 || !is_of_channels(forms, bias, back) ||
          !is_of_channels(forms, scale, back))
        return {};
      const auto grouped = grouped_of(forms, before_reshape(forms, back));
      const auto x = grouped ? grouped_source(forms, *grouped, back) : std::nullopt;
      if (!x) return {};
      const ChannelVectors vectors(forms, *grouped, *x);
      return forms.put(
          end, GroupNormalization{.epsilon = grouped->epsilon, .num_groups = vectors.groups()},
          {forms.mapped(*x), vectors.scale(scale), vectors.bias(bias, scale)});
    });
  });
}

// Between two reshapes, without parameters of the channels behind them.
std::optional<Value> without_channel_parameters(Forms& forms, Value end) {
  const Value inside = before_reshape(forms, end);
  const auto grouped = inside == end ? std::nullopt : grouped_of(forms, inside);
  const auto x = grouped ? grouped_source(forms, *grouped, end) : std::nullopt;
  if (!x || *x == grouped->rows) return {};
  const ChannelVectors vectors(forms, *grouped, *x);
  return forms.put(end,
                   GroupNormalization{.epsilon = grouped->epsilon, .num_groups = vectors.groups()},
                   {forms.mapped(*x), vectors.scale(), vectors.bias()});
}

std::optional<Value> group_normalization(Forms& forms, Value end) {
  if (const auto made = with_channel_parameters(forms, end)) return made;
  return without_channel_parameters(forms, end);
}

}  // namespace

std::optional<Value> normalization_form(Forms& forms, int node) {
  const Value end{node, 0};
  if (const auto grouped = group_normalization(forms, end)) return grouped;
  const auto with_bias = find_in<Add>(forms, end, [&](Value a, Value bias) {
    const auto scaled = scaled_of(forms, a);
    return scaled ? layer_normalization(forms, end, *scaled, bias) : std::nullopt;
  });
  if (with_bias) return with_bias;
  const auto scaled = scaled_of(forms, end);
  if (!scaled) return {};
  if (const auto made = layer_normalization(forms, end, *scaled, absent)) return made;
  const auto& [value, by] = scaled->normalized;
  if (by.of != value) return {};
  return forms.put(end, RMSNormalization{.axis = by.axis, .epsilon = by.epsilon},
                   {forms.mapped(value), forms.mapped(scaled->scale)});
}

}  // namespace narrowgauge
