// SPDX-License-Identifier: Apache-2.0
// ONNX 23's rotary position embedding: Su et al., "RoFormer", 2021.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// x [N, heads, T, width] or [N, T, num_heads * width] -> y like x. In each head pairs of the first
// rotary_embedding_dim elements (0: all) are rotated: (a, b) -> (cos a - sin b, sin a + cos b). The
// pairs are neighbours if `interleaved`, else half of these elements apart. cos and sin [N, T,
// pairs], or with position_ids [N, T] caches [positions, pairs], from which they are taken.
struct RotaryEmbedding {
  static constexpr OpInfo info{.name = "RotaryEmbedding",
                               .inputs = "x:T~, cos_cache:T~, sin_cache:T~, position_ids?:i64~!",
                               .outputs = "y:T~",
                               .types = "T:float",
                               .precision = narrowgauge::infer};
  std::int64_t interleaved = 0, num_heads = 0, rotary_embedding_dim = 0;

  static void attributes(auto& self, auto&& visit) {
    visit("interleaved", self.interleaved);
    visit("num_heads", self.num_heads);
    visit("rotary_embedding_dim", self.rotary_embedding_dim);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
