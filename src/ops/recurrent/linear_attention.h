// SPDX-License-Identifier: Apache-2.0
// ONNX 27's LinearAttention: attention without a softmax, as a recurrence (Katharopoulos et al.,
// 2020; the delta rule: Yang et al., "Gated delta networks", 2024).
#pragma once

#include <string>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// q [N, T, q_num_heads * dk], k [N, T, kv_num_heads * dk], v [N, T, kv_num_heads * dv] -> y [N, T,
// q_num_heads * dv] and the last state S [N, kv_num_heads, dk, dv], which begins at past_state or
// zero. Each step and head: S is multiplied by exp(decay) under gated rules, then u = v, or beta *
// (v
// - S^T k) under delta rules, is added as k u^T, and y = scale * S^T q. decay [N, T, kv_num_heads *
// (dk or 1)], beta [N, T, kv_num_heads or 1]. Each kv head serves q_num_heads / kv_num_heads
// neighbouring heads of q. Computed in f32 (f64 for f64); chunk_size changes nothing.
struct LinearAttention {
  static constexpr OpInfo info{.name = "LinearAttention",
                               .inputs = "q:T~, k:T~, v:T~, past_state?:S~, decay?:T~, beta?:T~",
                               .outputs = "y:T~, present_state:S~",
                               .types = "T:float, S:float",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  std::int64_t chunk_size = 64, kv_num_heads = 1, q_num_heads = 1;
  double scale = 0;  // 0: 1 / sqrt(dk)
  std::string update_rule = "gated_delta";

  static void attributes(auto& self, auto&& visit) {
    visit("chunk_size", self.chunk_size);
    visit("kv_num_heads", self.kv_num_heads);
    visit("q_num_heads", self.q_num_heads);
    visit("scale", self.scale);
    visit("update_rule", self.update_rule);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  static std::span<const Kernel> kernels();

  bool is_gated() const { return update_rule == "gated" || update_rule == "gated_delta"; }
  bool is_delta() const { return update_rule == "delta" || update_rule == "gated_delta"; }
};

}  // namespace narrowgauge
