// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes of a strided array, accumulated in f64: a sum of f32 values is accurate
// to about the last digit. Bits do not depend on the number of threads; NaN propagates.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/reduce/reduce_grid.h"

namespace narrowgauge::cpu {

// The reductions of ONNX's Reduce ops. Over no elements, sums and L norms are 0, product 1, minimum
// inf, maximum and the logarithms -inf, mean NaN.
enum class Reduction : std::uint8_t {
  sum,
  mean,
  maximum,
  minimum,
  product,
  l1,
  l2,
  sum_square,
  log_sum,
  log_sum_exp
};

// A reduction prepared for given axes; run() may be called repeatedly and from several threads.
class Reduce {
 public:
  Reduce(Reduction reduction, std::vector<ReduceAxis> axes);
  std::int64_t workspace() const;  // bytes, aligned to 8
  void run(ConstArray x, const Array& y, void* workspace) const;

 private:
  Reduction reduction_;
  ReduceGrid grid_;
};

}  // namespace narrowgauge::cpu
