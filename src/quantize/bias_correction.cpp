// SPDX-License-Identifier: Apache-2.0
#include "quantize/bias_correction.h"

namespace narrowgauge {

namespace {

void require_sizes(const Tensor& weights, const Tensor& rounded, std::span<const double> means,
                   const WeightAxes& axes) {
  const Dims& dims = weights.dims();
  const auto rank = static_cast<int>(dims.size());
  const bool axes_exist = axes.output >= 0 && axes.input >= 0 && axes.output < rank &&
                          axes.input < rank && axes.output != axes.input;
  require(axes_exist && (axes.groups == 1 || (axes.output == 0 && axes.input == 1)),
          "bias correction: weights ", dims, " have no such channels");
  require(rounded.dims() == dims, "bias correction: expected rounded weights ", dims, ", got ",
          rounded.dims());
  const std::int64_t inputs = dims[static_cast<std::size_t>(axes.input)] * axes.groups;
  require(std::ssize(means) == inputs, "bias correction: expected means of ", inputs,
          " channels, got ", means.size());
  const std::int64_t outputs = dims[static_cast<std::size_t>(axes.output)];
  require(axes.groups > 0 && outputs % axes.groups == 0, "bias correction: ", outputs,
          " channels do not make ", axes.groups, " groups");
}

}  // namespace

std::vector<double> bias_shift(const Tensor& weights, const Tensor& rounded,
                               std::span<const double> means, const WeightAxes& axes) {
  require_sizes(weights, rounded, means, axes);
  const auto output = static_cast<std::size_t>(axes.output);
  const auto input = static_cast<std::size_t>(axes.input);
  const Dims &dims = weights.dims(), strides = dense_strides(dims);
  const std::span<const float> w = weights.values<float>(), r = rounded.values<float>();
  const std::int64_t outputs = dims[output], inputs = dims[input];
  std::vector<double> shift(static_cast<std::size_t>(outputs));
  for (std::int64_t i = 0; i < std::ssize(w); ++i) {
    const std::int64_t to = i / strides[output] % outputs, from = i / strides[input] % inputs;
    const std::int64_t group = to / (outputs / axes.groups);
    const auto at = static_cast<std::size_t>(i);
    shift[static_cast<std::size_t>(to)] -=
        (double{r[at]} - double{w[at]}) * means[static_cast<std::size_t>(group * inputs + from)];
  }
  return shift;
}

Tensor corrected_bias(const Tensor& bias, std::span<const double> shift) {
  require(bias.size() == 0 || bias.size() == std::ssize(shift), "bias correction: expected ",
          shift.size(), " elements of a bias, got ", bias.size());
  Tensor corrected(DType::f32, {std::ssize(shift)});
  for (std::int64_t i = 0; i < corrected.size(); ++i)
    corrected.set(i, (bias.size() > 0 ? bias.at(i) : 0) + shift[static_cast<std::size_t>(i)]);
  return corrected;
}

}  // namespace narrowgauge
