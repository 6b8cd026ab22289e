// SPDX-License-Identifier: Apache-2.0
// What blocks of sums of f32 meet on their way to memory, and where they are stored.
#pragma once

#include <cstdint>
#include <limits>

namespace narrowgauge::cpu {

// What results are kept within; NaN stays NaN.
struct FloatBounds {
  float least = -std::numeric_limits<float>::infinity();
  float most = std::numeric_limits<float>::infinity();
};

// Results of some pixels, for up to 48 channels that lie together: what is done to their sums, and
// where they are stored.
struct FloatResults {
  const float* bias;      // for each channel, or null
  const float* residual;  // added to the sums, lies as y does; or null
  float* y;
  std::int64_t pitch;     // elements between pixels of y
  std::int64_t channels;  // 1 to 48
  FloatBounds bounds;
  bool streams;  // y is stored past the caches: whole lines, which nobody reads soon
};

namespace avx512 {
// Must stand between results that stream and whatever tells other threads of them.
void end_float_streams();
}  // namespace avx512

}  // namespace narrowgauge::cpu
