// SPDX-License-Identifier: Apache-2.0
// Moves blocks of pixels into channels and back.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

constexpr OpInfo depth_space_info(std::string_view name) {
  return {.name = name, .inputs = "x:T", .outputs = "y:T", .precision = clear};
}

// x [N, C, H, W] -> y [N, C / b^2, H b, W b] with b = blocksize: channels become blocks of b by b
// pixels. The place in the block is the slower part of the channel in the mode DCR, the faster part
// in CRD.
struct DepthToSpace {
  static constexpr OpInfo info = depth_space_info("DepthToSpace");
  std::int64_t blocksize = 1;
  std::string mode = "DCR";
  static void attributes(auto& self, auto&& visit) {
    visit("blocksize", self.blocksize);
    visit("mode", self.mode);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

// The inverse of DepthToSpace in its mode DCR.
struct SpaceToDepth {
  static constexpr OpInfo info = depth_space_info("SpaceToDepth");
  std::int64_t blocksize = 1;
  static void attributes(auto& self, auto&& visit) { visit("blocksize", self.blocksize); }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
