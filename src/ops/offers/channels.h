// SPDX-License-Identifier: Apache-2.0
// Connects operands to kernels that have a number per channel: the layout that several operands
// share, and vectors of channels as f32 whatever their dtype.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/normalization/channel_grid.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// The one ChannelLayout of operands [N, C, ...]; `pitches` are in the given order.
struct SharedChannels {
  cpu::ChannelLayout layout;
  std::vector<std::int64_t> pitches;
  std::string reason;  // why there is none; "" when there is one
};
// Takes f32, f16 and bf16; NCHW, NHWC (also as slices of wider buffers), blocked channels and
// batch-inner blocks.
SharedChannels shared_channels(const std::vector<const Operand*>& operands);

inline cpu::ConstArray array_of(const View& view, const Operand& operand, std::int64_t pitch = 0) {
  return {view.data, operand.dtype, pitch};
}
inline cpu::Array array_of(const View& view, const Operand& operand, std::int64_t pitch,
                           std::int64_t* flushed) {
  return {view.data, operand.dtype, pitch, flushed};
}

// Vectors of one length as f32; those of other dtypes are converted into a workspace.
class FloatVectors {
 public:
  static std::int64_t bytes(std::int64_t length, std::int64_t vectors) {
    return (vectors * length * 4 + 63) / 64 * 64;
  }
  FloatVectors(std::int64_t length, void* workspace)
      : length_(length), free_(static_cast<float*>(workspace)) {}

  const float* input(const View& view, DType dtype);
  // Where to compute a result; null for one that nobody reads.
  float* output(const View& view, DType dtype, std::int64_t* flushed);
  float* scratch();
  void store();  // puts results where they belong

 private:
  struct Pending {
    void* target;
    DType dtype;
    const float* values;
    std::int64_t* flushed;
  };
  std::int64_t length_;
  float* free_;
  std::vector<Pending> pending_;
};

}  // namespace narrowgauge
