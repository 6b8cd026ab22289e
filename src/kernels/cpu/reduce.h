// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes of a strided array, accumulated in f64: a sum of f32 values is right to
// about the last digit of the result. Bits do not depend on the number of threads; NaN propagates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/channel_grid.h"
#include "kernels/cpu/reduce_grid.h"

namespace narrowgauge::cpu {

// As ONNX's Reduce ops. Over nothing: the sums and L norms are 0, product 1, minimum inf, maximum
// and the logarithms -inf, mean NaN.
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

// Row-major x and y; reduced[i] says whether axis i vanishes.
std::vector<ReduceAxis> dense_axes(std::span<const std::int64_t> dims,
                                   const std::vector<bool>& reduced);
// For the gradient of a broadcast: x[dims] is summed down to y[target], which was broadcast to it:
// aligned at the right, with 1 or nothing where it was repeated. Throws UsageError if it does not
// fit.
std::vector<ReduceAxis> broadcast_axes(std::span<const std::int64_t> dims,
                                       std::span<const std::int64_t> target);
// All but the channels: the gradient of a bias. `pitch` is that of x.
std::vector<ReduceAxis> channel_axes(const ChannelLayout& layout, std::int64_t pitch = 0);

// A reduction prepared for given axes; run() may be called often, and from several threads.
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
