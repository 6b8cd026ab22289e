// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention with several heads (Vaswani et al. 2017) and its gradient, without
// the matrix of shares in memory (Dao et al., "FlashAttention", 2022). This is ONNX 23's Attention
// of rank 3, with dropout and outputs for the backward pass.
#pragma once

#include <algorithm>
#include <cmath>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// For each image and head, s = scale * q k^T + mask, p = softmax(s) over the keys, y = p v, where q
// is [N, T, heads * width], k and v are [N, S, heads * width], and y is like q; logsumexp [N,
// heads, T] is the log of the sum of exp(s), in f32 (f64 for f64). A mask broadcasts to [N, heads,
// T, S]. If all scores of a query are -inf, its shares and its y are 0. Dropout needs a key from
// RandomKey: an element of p is 0 with that probability, rounded to 16 bits, and is else divided by
// 1 minus it. KeptElements says which are kept.
struct Attention {
  static constexpr OpInfo info{.name = "Attention",
                               .domain = "ng",
                               .inputs = "q:T~, k:T~, v:T~, mask?:M~, key?:i64!",
                               .outputs = "y:T~, logsumexp?:V~",
                               .types = "T:float, M:float, V:float",
                               .precision = allow,
                               .fusion = Fusion::contraction};
  std::int64_t q_num_heads = 1;
  double scale = 0;            // 0: 1 / sqrt(width)
  std::int64_t is_causal = 0;  // 1: query i sees keys 0 to i
  double dropout = 0;

  static void attributes(auto& self, auto&& visit) {
    visit("q_num_heads", self.q_num_heads);
    visit("scale", self.scale);
    visit("is_causal", self.is_causal);
    visit("dropout", self.dropout);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  Values decompose(Rewriting& r) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

// With p = exp(s - logsumexp), d the dropout's factors and g = d * (dy v^T): dv = (d * p)^T dy, and
// with ds = p * (g - sum(p * g)), dq = scale * ds k and dk = scale * ds^T q.
struct AttentionGradient {
  static constexpr OpInfo info{
      .name = "AttentionGradient",
      .domain = "ng",
      .inputs = "dy:T~, q:T~, k:T~, v:T~, logsumexp:V~, mask?:M~, key?:i64!",
      .outputs = "dq?:T~, dk?:T~, dv?:T~",
      .types = "T:float, M:float, V:float",
      .precision = allow,
      .fusion = Fusion::contraction};
  std::int64_t q_num_heads = 1;
  double scale = 0;
  std::int64_t is_causal = 0;
  double dropout = 0;

  static void attributes(auto& self, auto&& visit) {
    visit("q_num_heads", self.q_num_heads);
    visit("scale", self.scale);
    visit("is_causal", self.is_causal);
    visit("dropout", self.dropout);
  }
  TensorTypes infer(const Inference& in) const;
  Values decompose(Rewriting& r) const;
  double flops(std::span<const TensorType> inputs, std::span<const TensorType> outputs) const;
  static std::span<const Kernel> kernels();
};

// Settings that both ops read from their attributes; the positions of their inputs differ.
struct AttentionSettings {
  std::int64_t heads;
  double scale;  // settled
  bool causal;
  double keep;  // a multiple of 2^-16
};
template <class AttentionOp>
AttentionSettings settings_of(const AttentionOp& op, std::int64_t width) {
  const auto of_head = static_cast<double>(width / op.q_num_heads);
  const auto kept = std::max<std::int64_t>(1, std::llround((1 - op.dropout) * 0x1p16));
  return {op.q_num_heads, op.scale == 0 ? 1 / std::sqrt(of_head) : op.scale, op.is_causal != 0,
          static_cast<double>(kept) * 0x1p-16};
}

}  // namespace narrowgauge
