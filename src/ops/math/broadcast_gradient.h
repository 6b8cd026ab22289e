// SPDX-License-Identifier: Apache-2.0
// The inverse of broadcasting, with which the gradients of broadcasting ops end.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Sums over the axes along which a tensor of `shape` was broadcast to the input's shape, in f32
// (f64 for f64) whatever T is.
struct BroadcastGradient {
  static constexpr OpInfo info{.name = "BroadcastGradient",
                               .domain = "ng",
                               .inputs = "dy:T",
                               .outputs = "dx:T",
                               .types = "T:float",
                               .precision = narrowgauge::infer,
                               .fusion = Fusion::reduction};
  Shape shape;
  static void attributes(auto& self, auto&& visit) { visit("shape", self.shape); }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
};

// Whether `sums` are one number for each channel of images [N, C, H, W].
bool are_channels(const Dims& sums, const Dims& images);

// `gradient` summed to the shape of `like`; itself if nothing was broadcast.
Value reduce_to(Rewriting& r, Value gradient, Value like);

}  // namespace narrowgauge
