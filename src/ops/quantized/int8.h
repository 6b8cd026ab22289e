// SPDX-License-Identifier: Apache-2.0
// What the ops on quantised bytes share: zero points and scales in shapes, kernels and references.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "kernels/cpu/bytes/int8_gemm.h"
#include "narrowgauge/op_record.h"
#include "ops/nn/conv_reference.h"
#include "ops/reference.h"

namespace narrowgauge {

// Zero points or scales: one for all, a list of `lines`, or a shape of ones with `lines` on
// `axis`. Throws UsageError naming the op.
struct Int8Lines {
  std::string_view what;
  Dim lines;
  int axis = -1;  // -1: a list at most
};
void require_lines(const Inference& in, int input, const Int8Lines& lines);

// Positions of a request's inputs; -1: the op has none.
struct Int8Places {
  int a_zero, b_zero;
  int bias = -1, a_scale = -1, b_scale = -1, y_scale = -1, y_zero = -1;
};
cpu::Int8Quantities int8_quantities(const Request& request, const Int8Places& at);
// Offers a kernel with rows from input `a` and columns from input `b`; see offer_prepared().
Offer int8_offer(std::function<cpu::Prepared()> prepare, int a, int b);

// The inputs or outputs of a reference.
using ReferenceViews = std::vector<ReferenceView>;
// For references: an input that is given, else nullptr.
const ReferenceView* view_at(const ReferenceViews& in, int input);
// For references: number i of a list, or the one for all; if there is none, 0 (zero) or 1 (scale).
std::int64_t int8_zero(const ReferenceViews& in, int input, std::int64_t i);
float int8_scale(const ReferenceViews& in, int input, std::int64_t i);
std::int32_t wrapped_int32(std::int64_t x);
// round(sum row column) + zero, the least number for NaN; the view saturates.
double int8_quantised(std::int32_t sum, const cpu::Int8Scales& scales, std::int64_t zero);

// Positions of a convolution's inputs; zero points may be -1: the op has none.
struct SumPlaces {
  int x, w, x_zero, w_zero;
};
// For references: the sums of a convolution, exact in f64 below 2^53, that is for 2^35 products and
// more.
Tensor exact_sums(const ConvolutionCase& c, const SumPlaces& at, const ReferenceViews& in,
                  const Dims& y_dims);

}  // namespace narrowgauge
