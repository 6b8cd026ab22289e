// SPDX-License-Identifier: Apache-2.0
// What a quantised convolution knows of its columns, as lists in a workspace.
#pragma once

#include "kernels/cpu/bytes/quantized_convolution.h"
#include "kernels/cpu/bytes/quantized_rows.h"

namespace narrowgauge::cpu {

class QuantizedLists {
 public:
  // Columns of `groups` groups, each padded.
  QuantizedLists(const QuantizedNumbers& numbers, std::int64_t groups, std::int64_t in_group,
                 std::int64_t padded)
      : numbers_(numbers),
        groups_(groups),
        in_group_(in_group),
        padded_(padded),
        of_tier_(quantized_finish()) {}
  // A text for what is in the lists beside the inputs that they are made of.
  std::string format(DType y) const;
  // The places in Call::inputs that the lists are made of.
  std::vector<int> inputs() const;
  std::int64_t bytes() const { return 4 * (4 * groups_ * padded_ + 1); }

  struct Stored {
    std::int32_t w_moved;             // what was taken off weights
    std::int32_t x_zero;              // as stored
    const std::int32_t* column_sums;  // of stored weights: nullptr where rows are less x_zero
  };
  // Writes the lists, which last as long as what they are made of.
  void fill(const Call& call, const QuantizedSteps& steps, std::byte* memory,
            const Stored& stored) const;
  // The epilogue that reads lists that are there. Leaves the dtypes to the caller.
  QuantizedFinish read(const std::byte* memory, const QuantizedSteps& steps,
                       const Stored& stored) const;
  QuantizedFinish load(const Call& call, const QuantizedSteps& steps, std::byte* memory,
                       const Stored& stored) const {
    fill(call, steps, memory, stored);
    return read(memory, steps, stored);
  }

 private:
  QuantizedNumbers numbers_;
  std::int64_t groups_, in_group_, padded_;
  FinishSums of_tier_;
};

}  // namespace narrowgauge::cpu
