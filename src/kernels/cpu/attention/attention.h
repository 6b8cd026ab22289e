// SPDX-License-Identifier: Apache-2.0
// Attention of queries over keys and values, forward and backward, without the matrix of scores:
// the f32 scores of 32 queries of one head at a time stay in a cache, and the backward pass makes
// them again from the logarithms of their sums. Dao, Fu, Ermon, Rudra, Re, "FlashAttention", 2022.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {

struct AttentionShape {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0;
  std::int64_t width = 0;  // of a head
};

// An array [batch, rows, heads * width]; strides in elements, a row's elements are contiguous.
struct AttentionInput {
  const void* data = nullptr;
  std::int64_t batch = 0, row = 0;
};
struct AttentionOutput {
  void* data = nullptr;
  std::int64_t batch = 0, row = 0;
  std::int64_t* flushed = nullptr;
};

// Added to the scores [batch, heads, queries, keys]; a stride is 0 along axes that repeat.
struct AttentionMask {
  ConstArray values;
  std::int64_t batch = 0, head = 0, query = 0;
  bool repeats = false;  // one number for all keys, else they are neighbours
};

// Shares p = softmax(scale * q k^T + mask) over the keys; 0 if all scores are -inf. Each share is
// kept, and divided by `keep`, with probability `keep`, a multiple of 2^-16: if
// dropout.short_bits(its index in [batch, heads, queries, keys]) < keep * 2^16.
struct AttentionProblem {
  AttentionShape shape;
  DType dtype = DType::f32;  // of all arrays: f32, f16 or bf16
  AttentionInput q, k, v;
  AttentionMask mask{};
  float scale = 1;
  bool causal = false;  // query i sees keys 0 to i
  float keep = 1;
  RandomStream dropout = RandomStream::of_key(0, 0);
};

// y = p v; logsumexp [batch, heads, queries] if it is wanted.
struct AttentionForward {
  AttentionProblem problem;
  AttentionOutput y;
  float* logsumexp = nullptr;
};

// The gradients; outputs that are null are not stored.
struct AttentionBackward {
  AttentionProblem problem;
  AttentionInput dy;
  const float* logsumexp = nullptr;
  AttentionOutput dq, dk, dv;
};

struct AttentionHead {
  std::int64_t image, head;
};

// A way to compute one head, with its bytes of scratch memory.
struct AttentionEngine {
  std::int64_t (*forward_bytes)(const AttentionShape& shape);
  std::int64_t (*backward_bytes)(const AttentionShape& shape);
  void (*forward)(const AttentionForward& attention, AttentionHead head, std::byte* scratch);
  void (*backward)(const AttentionBackward& attention, AttentionHead head, std::byte* scratch);
};
const AttentionEngine& vector_attention();  // f32 products, in the fastest vectors of isa()
namespace avx512 {
extern const AttentionEngine attention_engine;
}
namespace amx {
extern const AttentionEngine attention_engine;  // bf16 operands, shares rounded to bf16
}

std::int64_t attention_workspace(const AttentionEngine& engine, const AttentionShape& shape);
std::int64_t attention_backward_workspace(const AttentionEngine& engine,
                                          const AttentionShape& shape);
void attention(const AttentionEngine& engine, const AttentionForward& attention, void* workspace);
void attention_backward(const AttentionEngine& engine, const AttentionBackward& attention,
                        void* workspace);

}  // namespace narrowgauge::cpu
