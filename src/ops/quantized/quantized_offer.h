// SPDX-License-Identifier: Apache-2.0
// What ng.QuantizedConv and ng.QuantizedMatMul share: checks, offers of kernels, and the reference
// of the epilogue.
#pragma once

#include <functional>

#include "kernels/cpu/bytes/quantized_convolution.h"
#include "narrowgauge/op_record.h"
#include "ops/reference.h"

namespace narrowgauge {

// What an op does with its sums.
struct QuantizedEnd {
  double low, high;
  bool gelu;
  DType dtype;  // of y without a scale
};
template <class Op>
QuantizedEnd quantized_end(const Op& op) {
  return {op.low, op.high, op.gelu, op.dtype};
}

// Checks all but x and w, for y of this shape with `channels`; returns its type.
TensorType quantized_type(const Inference& in, Shape y, const Dim& channels,
                          const QuantizedEnd& end);

cpu::QuantizedNumbers quantized_numbers(const Request& request, const QuantizedEnd& end);
// Whether w, and its zero point if it has one, are the same in every run.
bool weights_last(const Request& request);
// Whether all scales and zero points, and the bias, are the same in every run.
bool numbers_last(const Request& request);
bool input_given(const Request& request, int input);
// The zero point of x, 0 if it has none; nothing if it is not known.
std::optional<std::int32_t> known_x_zero(const Request& request);
// Why oneDNN's sums would not be exact on the target; "" if they are.
std::string saturation_reason(const Request& request);

// Offers what `prepare` makes when the kernel is chosen, with all inputs of the node.
Offer quantized_offer(std::function<cpu::Prepared()> prepare);

// Stores element i of y, a result of this output channel, for the sum of its products.
void store_quantized(const std::vector<ReferenceView>& in, const ReferenceView& y, std::int64_t i,
                     std::int64_t channel, std::int64_t sum, const QuantizedEnd& end);

}  // namespace narrowgauge
