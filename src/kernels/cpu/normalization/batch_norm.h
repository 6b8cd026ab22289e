// SPDX-License-Identifier: Apache-2.0
// Batch normalization over any channel layout: Ioffe, Szegedy, "Batch normalization", 2015, with
// ONNX's running statistics. Means and deviations are combined as in Chan, Golub, LeVeque 1979, on
// values shifted by one of the channel's own, so that a mean far larger than the spread costs no
// accuracy. Bits do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/cpu/normalization/channel_grid.h"

namespace narrowgauge::cpu {

// Bytes of `workspace` for the functions below; it must be aligned to 8.
std::int64_t batch_norm_workspace(const ChannelLayout& layout);

// Statistics per channel, f32; null arrays are not written.
struct BatchStatistics {
  float* mean = nullptr;
  float* variance = nullptr;  // biased: divided by the number of elements
  float* inverse_std = nullptr;
  // The rounding error of the mean: added to it, it gives twice the digits.
  float* mean_low = nullptr;
};
void batch_statistics(const ChannelLayout& layout, ConstArray x, float epsilon,
                      const BatchStatistics& statistics, void* workspace);

// next = current * momentum + batch * (1 - momentum), as in ONNX, where variance_factor times the
// variance counts as the batch's; in place is allowed.
struct RunningStatistics {
  std::int64_t channels = 0;
  float momentum = 0.9F;
  const float *batch_mean = nullptr, *batch_variance = nullptr;
  const float *mean = nullptr, *variance = nullptr;
  float *next_mean = nullptr, *next_variance = nullptr;
  float variance_factor = 1;
};
void update_running_statistics(const RunningStatistics& running);

// What to do with elements [begin, end) of a result, in the order of memory, once they are stored.
using StoredPart = std::function<void(std::int64_t begin, std::int64_t end)>;

// y = (x - mean) * inverse_std * scale + bias; plus `other`, over which y may lie, and at least 0
// if that is asked for.
struct BatchNormApply {
  ChannelLayout layout;
  ConstArray x;
  Array y;
  const float *scale = nullptr, *bias = nullptr;
  const float *mean = nullptr, *inverse_std = nullptr;
  const float* mean_low = nullptr;  // may be null
  ConstArray other{};
  bool relu = false;
  const StoredPart* stored = nullptr;  // only for a dense y, not in batch-inner blocks
};
void batch_norm_apply(const BatchNormApply& norm, void* workspace);
// Writes the same as y = (x - mean) * factor + constant per channel; x and y are not used.
void batch_norm_factors(const BatchNormApply& norm, float* factor, float* constant);

// Computes statistics, then y. `statistics` must have room for mean and inverse_std.
void batch_norm_train(BatchNormApply norm, float epsilon, BatchStatistics statistics,
                      void* workspace);
// Computes y from the given mean and variance (norm.mean is the mean, norm.inverse_std is unused).
void batch_norm_infer(BatchNormApply norm, const float* variance, float epsilon, void* workspace);

// Gradients of batch_norm_train. Outputs that are null are not computed.
struct BatchNormBackward {
  ChannelLayout layout;
  ConstArray dy, x;
  const float *scale = nullptr, *mean = nullptr, *inverse_std = nullptr;
  bool is_batch_mean = true;  // mean is that of x, but for its rounding
  Array dx{};
  ConstArray other{};  // added to dx; only arrays that batch_inner::takes() allow
  float *scale_gradient = nullptr, *bias_gradient = nullptr;
};
void batch_norm_backward(const BatchNormBackward& norm, void* workspace);

// Sums over all elements of each channel: of dy, of dy * (x - mean), and of x - mean, which is the
// mean's rounding error (null: none).
struct GradientSums {
  double *dy, *product, *deviation;
};
// batch_norm_backward() from known sums, for images in batch-inner blocks; dx may be dy.
void batch_norm_backward_from(const BatchNormBackward& norm, const GradientSums& sums,
                              void* workspace);

}  // namespace narrowgauge::cpu
