// SPDX-License-Identifier: Apache-2.0
// What a quantised convolution by panels of weights reads beside its pixels: the weights as panels,
// and what is known of its columns. Both are packed ahead where they are constant.
#pragma once

#include <vector>

#include "kernels/cpu/bytes/quantized_lists.h"
#include "kernels/cpu/bytes/quantized_weights.h"

namespace narrowgauge::cpu {

class QuantizedOperands {
 public:
  // `taps_in_run`: as QuantizedWeights has it.
  QuantizedOperands(const QuantizedTier& tier, const QuantizedViews& views, std::int64_t groups,
                    const QuantizedNumbers& numbers, std::int64_t taps_in_run = 0);

  const QuantizedWeights& weights() const { return weights_; }
  // Whether the sums of rows are wanted.
  bool needs_row_sums() const { return w_unsigned_ || numbers_.w_zero.count > 0; }

  std::int64_t packed_bytes() const { return lists_at_ + (lists_last() ? lists_.bytes() : 0); }
  std::string packed_format() const;
  std::vector<int> packed_inputs() const;
  // False: as QuantizedWeights::pack() says.
  [[nodiscard]] bool pack(const void* const* inputs, std::byte* packed) const;

  // Memory for what is not packed ahead.
  std::int64_t workspace() const;
  struct Ready {
    const std::byte* weights;
    std::int32_t x_zero, stored_zero;  // of x, and as it is stored
    QuantizedFinish finish;
    const std::int32_t* starts;  // that the products begin with
  };
  Ready ready(const Call& call, std::byte* memory) const;

 private:
  bool lists_last() const { return w_lasts_ && numbers_last_; }
  std::int32_t stored_zero(const QuantizedSteps& steps) const {
    return steps.x_zero + (x_signed_ ? 128 : 0);
  }
  QuantizedLists::Stored stored(const std::byte* weights, const QuantizedSteps& steps) const;

  const QuantizedTier& tier_;
  QuantizedNumbers numbers_;
  bool x_signed_, w_unsigned_, w_lasts_, numbers_last_;
  std::optional<DType> residual_;
  DType y_;
  QuantizedWeights weights_;
  QuantizedLists lists_;
  std::int64_t lists_at_;    // in what is packed
  std::int64_t weights_at_;  // in memory
};

}  // namespace narrowgauge::cpu
