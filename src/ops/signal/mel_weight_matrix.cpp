// SPDX-License-Identifier: Apache-2.0
#include "ops/signal/mel_weight_matrix.h"

#include <cmath>

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/no_gradient.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10.0, mel / 2595) - 1); }

struct Numbers {
  std::int64_t bins, dft_length, sample_rate;
  double lower, upper;
  std::int64_t spectrum() const { return dft_length / 2 + 1; }
};

// `constant(i)` returns the tensor of input i, or nullptr.
template <class Constant>
Numbers numbers_from(const Constant& constant) {
  const auto number = [&](int i) {
    const Tensor* tensor = constant(i);
    require(tensor && tensor->size() == 1, "MelWeightMatrix: input ", i,
            " must be one constant number");
    return tensor->at(0);
  };
  const auto integer = [&](int i) {
    constexpr double most = 1 << 30;
    require(number(i) >= 1 && number(i) <= most, "MelWeightMatrix: input ", i,
            " must lie from 1 to ", most, ", got ", number(i));
    return static_cast<std::int64_t>(number(i));
  };
  const Numbers numbers{integer(0), integer(1), integer(2), number(3), number(4)};
  const double half = static_cast<double>(numbers.sample_rate) / 2;
  require(numbers.lower >= 0 && numbers.lower <= numbers.upper && numbers.upper <= half,
          "MelWeightMatrix: edges must rise from 0 to at most half the sample rate, ", half,
          ", got ", numbers.lower, " and ", numbers.upper);
  return numbers;
}

// The place in the spectrum of corner i, of bins + 2 that are spaced evenly on the mel scale.
std::int64_t corner(const Numbers& n, std::int64_t i) {
  const double low = mel_of(n.lower), high = mel_of(n.upper);
  const double step = (high - low) / static_cast<double>(n.bins + 2);
  const double hertz = hertz_of(low + static_cast<double>(i) * step);
  return static_cast<std::int64_t>(std::floor(static_cast<double>(n.dft_length + 1) * hertz /
                                              static_cast<double>(n.sample_rate)));
}

// The height of the triangle at a place in the spectrum.
double height(std::int64_t place, std::int64_t left, std::int64_t top, std::int64_t right) {
  if (place == top) return 1;
  if (place <= left || place >= right) return 0;
  return place < top ? static_cast<double>(place - left) / static_cast<double>(top - left)
                     : static_cast<double>(right - place) / static_cast<double>(right - top);
}

}  // namespace

TensorTypes MelWeightMatrix::infer(const Inference& in) const {
  const Numbers n = numbers_from([&](int i) { return &in.known(i, "every input"); });
  return {{output_datatype, {n.spectrum(), n.bins}}};
}

Values MelWeightMatrix::decompose(Rewriting& r) const {
  const Numbers n = numbers_from([&](int i) { return r.graph().constant_value(r.input(i)); });
  Tensor matrix = Tensor::full(output_datatype, {n.spectrum(), n.bins}, 0);
  for (std::int64_t bin = 0; bin < n.bins; ++bin) {
    const std::int64_t left = corner(n, bin), top = corner(n, bin + 1), right = corner(n, bin + 2);
    for (std::int64_t place = left; place <= right && place < n.spectrum(); ++place)
      matrix.set(place * n.bins + bin, height(place, left, top, right));
  }
  return {r.constant(matrix)};
}

std::span<const Kernel> MelWeightMatrix::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(mel_weight_matrix, narrowgauge::MelWeightMatrix)
NG_NO_GRADIENT(mel_weight_matrix, "made of known numbers", narrowgauge::MelWeightMatrix)
