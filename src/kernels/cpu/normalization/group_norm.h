// SPDX-License-Identifier: Apache-2.0
// Group and instance normalization over any channel layout: Wu, He, "Group normalization", 2018;
// Ulyanov et al., "Instance normalization", 2016. The moments of a group are joined in f64 from
// those of its channels, as batch_norm.h computes them. Bits do not depend on the number of
// threads.
#pragma once

#include "kernels/cpu/normalization/batch_norm.h"

namespace narrowgauge::cpu {

// y = (x - mean) * inverse_std * scale + bias, with the moments of the groups of channels of one
// image at a time. Images lie one after the other: no batch-inner blocks.
struct GroupNorm {
  ChannelLayout layout;  // of all images
  std::int64_t images = 1, groups = 1;
  ConstArray x;
  Array y;  // may be x
  const float *scale = nullptr, *bias = nullptr;
  float epsilon = 1e-5F;
  StoredPart stored{};  // of y, which is dense then
};
std::int64_t group_norm_workspace(const ChannelLayout& layout, std::int64_t images);  // bytes
void group_norm(const GroupNorm& norm, void* workspace);

}  // namespace narrowgauge::cpu
