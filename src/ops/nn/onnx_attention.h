// SPDX-License-Identifier: Apache-2.0
// ONNX 25's Attention: scaled dot-product attention with groups of heads, caches and windows.
// ng.Attention is the form of it that has kernels of its own.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// q [N, q_num_heads, T, width], k and v [N, kv_num_heads, S, width] (v's may differ), or all of
// rank 3: [N, T, heads * width]; y is like q with v's width. Each kv head serves q_num_heads /
// kv_num_heads neighbouring heads of q. past_key and past_value [N, kv_num_heads, P, width] come
// before k and v; present_key and present_value are both together.
//   s = scale * q k^T; with softcap: softcap * tanh(s / softcap); + attn_mask; y = softmax(s) v
// attn_mask broadcasts to [N, q_num_heads, T, P + S] (a shorter last axis hides the rest); a bool
// one says what is seen. Query i stands at p = i + P, or i + nonpad_kv_seqlen - T where that is
// given [N], which hides the keys from it on too. is_causal hides keys behind p; windows hide keys
// more than so many before or behind p (-1: none). A query that sees nothing gives 0.
// qk_matmul_output is s (mode 0), after softcap (1), with mask (2), or the softmax (3).
// softmax_precision is ONNX's number of a dtype, 0 that of q.
struct OnnxAttention {
  static constexpr OpInfo info{
      .name = "Attention",
      .inputs =
          "q:T~, k:T~, v:T~, attn_mask?:M~, past_key?:T~, past_value?:T~, "
          "nonpad_kv_seqlen?:i64~!",
      .outputs = "y:T~, present_key?:T~, present_value?:T~, qk_matmul_output?:T~",
      .types = "T:float",
      .precision = allow,
      .fusion = Fusion::contraction};
  std::int64_t is_causal = 0, kv_num_heads = 0, left_window_size = -1, q_num_heads = 0;
  std::int64_t qk_matmul_output_mode = 0, right_window_size = -1;
  double scale = 0;  // 0: 1 / sqrt(width)
  double softcap = 0;
  std::int64_t softmax_precision = 0;

  static void attributes(auto& self, auto&& visit) {
    visit("is_causal", self.is_causal);
    visit("kv_num_heads", self.kv_num_heads);
    visit("left_window_size", self.left_window_size);
    visit("q_num_heads", self.q_num_heads);
    visit("qk_matmul_output_mode", self.qk_matmul_output_mode);
    visit("right_window_size", self.right_window_size);
    visit("scale", self.scale);
    visit("softcap", self.softcap);
    visit("softmax_precision", self.softmax_precision);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

}  // namespace narrowgauge
