// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/attention/attention.h"

#include <algorithm>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/attention/attention_loops.h"
#include "kernels/cpu/lanes/simd.h"

namespace narrowgauge::cpu {

const AttentionMath attention_math = AttentionLoops<Float8>::math();

namespace {

constexpr AttentionEngine narrow_engine = AttentionLoops<Float8>::engine();

// Each piece has its own scratch memory.
constexpr std::int64_t most_pieces = 32;

std::int64_t heads_of(const AttentionShape& shape) { return shape.batch * shape.heads; }

std::int64_t pieces_of(const AttentionShape& shape) {
  return std::min(heads_of(shape), most_pieces);
}

std::int64_t rounded(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

template <class Body>
void for_heads(const AttentionShape& shape, const Body& body) {
  const std::int64_t pieces = pieces_of(shape), heads = heads_of(shape);
  parallel_for(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece)
      for (std::int64_t i = heads * piece / pieces; i < heads * (piece + 1) / pieces; ++i)
        body(AttentionHead{i / shape.heads, i % shape.heads}, piece);
  });
}

}  // namespace

const AttentionEngine& vector_attention() {
  return isa() >= Isa::avx512 ? avx512::attention_engine : narrow_engine;
}

std::int64_t attention_workspace(const AttentionEngine& engine, const AttentionShape& shape) {
  return pieces_of(shape) * rounded(engine.forward_bytes(shape));
}

std::int64_t attention_backward_workspace(const AttentionEngine& engine,
                                          const AttentionShape& shape) {
  return pieces_of(shape) * rounded(engine.backward_bytes(shape));
}

void attention(const AttentionEngine& engine, const AttentionForward& attention, void* workspace) {
  const AttentionShape& shape = attention.problem.shape;
  const std::int64_t bytes = rounded(engine.forward_bytes(shape));
  for_heads(shape, [&](AttentionHead head, std::int64_t piece) {
    engine.forward(attention, head, static_cast<std::byte*>(workspace) + piece * bytes);
  });
}

void attention_backward(const AttentionEngine& engine, const AttentionBackward& attention,
                        void* workspace) {
  const AttentionShape& shape = attention.problem.shape;
  const std::int64_t bytes = rounded(engine.backward_bytes(shape));
  for_heads(shape, [&](AttentionHead head, std::int64_t piece) {
    engine.backward(attention, head, static_cast<std::byte*>(workspace) + piece * bytes);
  });
}

}  // namespace narrowgauge::cpu
