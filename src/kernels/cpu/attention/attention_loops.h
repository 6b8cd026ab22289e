// SPDX-License-Identifier: Apache-2.0
// Attention in vectors of f32: rows of scores, small matrix products, and a head.
#pragma once

#include <cstddef>

#include "kernels/cpu/attention/attention_rows.h"
#include "kernels/cpu/lanes/row_math_loops.h"

namespace narrowgauge::cpu {

template <class Float>
struct AttentionLoops {
  using Loops = RowLoops<Float>;
  using Sixteen = typename Loops::Sixteen;
  static constexpr std::int64_t lanes = Float::lanes;

  template <class Lanes>
  static Float score(const ScoreRow& row, const Lanes& part, std::int64_t at) {
    const Float product = part.load(row.scores + at), scale = Float::set(row.scale);
    return row.mask ? fma(product, scale, part.load(row.mask + at)) : product * scale;
  }

  static void clear(const ScoreRow& row, float* values) {
    for (std::int64_t i = row.visible; i < row.padded; ++i) values[i] = 0;
  }

  static Float dropped(const ScoreRow& row, std::int64_t at, Float value) {
    return where_less(Float::of_shorts(row.bits + at), Float::set(row.below), value);
  }

  static RowShares exponentials(const ScoreRow& row) {
    constexpr float nothing = -__builtin_inff();
    Sixteen most = Sixteen::set(nothing), sum = Sixteen::set(0.0F);
    Loops::over(row.visible, [&](const auto& part, std::int64_t at, int p) {
      const Float x = score(row, part, at);
      part.store(row.scores + at, x);
      most.part[p] = max(part.fill(x, nothing), most.part[p]);
    });
    const float largest = most.largest();
    const Float shift = Float::set(largest == nothing ? 0.0F : largest);
    Loops::over(row.visible, [&](const auto& part, std::int64_t at, int p) {
      const Float e = part.keep(Loops::exponential(part.load(row.scores + at) - shift));
      sum.part[p] = sum.part[p] + e;
      part.store(row.scores + at, row.bits ? dropped(row, at, e) : e);
    });
    clear(row, row.scores);
    return {largest, sum.sum()};
  }

  static void gradients(const ScoreRow& row, float logsumexp, float* gradient) {
    const Float shift = Float::set(logsumexp == -__builtin_inff() ? 0.0F : logsumexp);
    const Float factor = Float::set(1.0F / row.keep), scale = Float::set(row.scale);
    Sixteen sum = Sixteen::set(0.0F);
    Loops::over(row.visible, [&](const auto& part, std::int64_t at, int p) {
      const Float share = Loops::exponential(score(row, part, at) - shift);
      Float g = part.load(gradient + at) * factor;
      if (row.bits) g = dropped(row, at, g);
      part.store(row.scores + at, share);
      part.store(gradient + at, g);
      sum.part[p] = sum.part[p] + part.keep(share * g);
    });
    const Float mean = Float::set(sum.sum());
    Loops::over(row.visible, [&](const auto& part, std::int64_t at, int) {
      const Float share = part.load(row.scores + at);
      part.store(gradient + at, share * (part.load(gradient + at) - mean) * scale);
      part.store(row.scores + at, row.bits ? dropped(row, at, share) * factor : share);
    });
    clear(row, row.scores);
    clear(row, gradient);
  }

  static constexpr AttentionMath math() {
    return {.exponentials = exponentials, .gradients = gradients};
  }

  // c [m, n] (+)= a [m, k] b [k, n]; m is a multiple of 8 and n of 32. An element of a lies at i *
  // a_row + j * a_column; those of a row of b and c are contiguous.
  struct Product {
    const float* a;
    std::int64_t a_row, a_column;
    const float* b;
    std::int64_t b_row;
    float* c;
    std::int64_t c_row;
    std::int64_t m, n, k;
    bool add = false;
  };

  static constexpr int rows_at_once = lanes == 16 ? 8 : 4;

  static void multiply_block(const Product& p, std::int64_t i, std::int64_t j) {
    Float sum[rows_at_once][2];
    for (int r = 0; r < rows_at_once; ++r)
      for (int v = 0; v < 2; ++v)
        sum[r][v] = p.add ? Float::load(p.c + (i + r) * p.c_row + j + v * lanes) : Float::set(0.0F);
    const float* a = p.a + i * p.a_row;
    const float* b = p.b + j;
    for (std::int64_t k = 0; k < p.k; ++k, a += p.a_column, b += p.b_row) {
      const Float first = Float::load(b), second = Float::load(b + lanes);
#pragma GCC unroll 8
      for (int r = 0; r < rows_at_once; ++r) {
        const Float x = Float::set(a[r * p.a_row]);
        sum[r][0] = fma(x, first, sum[r][0]);
        sum[r][1] = fma(x, second, sum[r][1]);
      }
    }
    for (int r = 0; r < rows_at_once; ++r)
      for (int v = 0; v < 2; ++v) sum[r][v].store(p.c + (i + r) * p.c_row + j + v * lanes);
  }

  static void multiply(const Product& p) {
    for (std::int64_t j = 0; j < p.n; j += 2 * lanes)
      for (std::int64_t i = 0; i < p.m; i += rows_at_once) multiply_block(p, i, j);
  }

  static void transpose(const float* from, std::int64_t rows, std::int64_t columns, float* to) {
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) to[j * rows + i] = from[i * columns + j];
  }

  // Sizes of one head, padded, and its scratch memory cut into arrays.
  struct Sizes {
    std::int64_t keys, width, keys_of_head;
    explicit Sizes(const AttentionShape& shape)
        : keys(padded(shape.keys)), width(padded(shape.width)) {
      keys_of_head = keys * width;
    }
  };
  class Cutter {
   public:
    explicit Cutter(std::byte* scratch) : next_(scratch) {}
    float* floats(std::int64_t count) { return reinterpret_cast<float*>(bytes(count * 4)); }
    std::byte* bytes(std::int64_t count) {
      std::byte* const here = next_;
      next_ += (count + 63) / 64 * 64;
      return here;
    }

   private:
    std::byte* next_;
  };

  static std::int64_t forward_bytes(const AttentionShape& shape) {
    const Sizes s(shape);
    return 4 * (2 * s.keys_of_head + attention_block * (s.keys + 2 * s.width)) +
           ScoreStrip::bytes(shape);
  }

  static void forward(const AttentionForward& call, AttentionHead head, std::byte* scratch) {
    const AttentionProblem& problem = call.problem;
    const AttentionShape& shape = problem.shape;
    const Sizes s(shape);
    Cutter cut(scratch);
    float *rows = cut.floats(s.keys_of_head), *keys = cut.floats(s.keys_of_head);
    float* scores = cut.floats(attention_block * s.keys);
    float *q = cut.floats(attention_block * s.width), *y = cut.floats(attention_block * s.width);
    ScoreStrip strip(problem, head, cut.bytes(ScoreStrip::bytes(shape)));
    load_head_rows(problem, problem.k, head, {0, shape.keys}, rows);
    transpose(rows, s.keys, s.width, keys);
    load_head_rows(problem, problem.v, head, {0, shape.keys}, rows);
    for (std::int64_t first = 0; first < shape.queries; first += attention_block) {
      const RowRange queries{first, least(attention_block, shape.queries - first)};
      strip.start(queries);
      const std::int64_t seen = strip.padded_keys();
      load_head_rows(problem, problem.q, head, queries, q);
      multiply({q, s.width, 1, keys, s.keys, scores, s.keys, attention_block, seen, shape.width});
      float factor[attention_block];
      for (std::int64_t r = 0; r < queries.count; ++r) {
        const RowShares shares = exponentials(strip.row(r, scores + r * s.keys));
        factor[r] = share_factor(shares, problem.keep);
        if (call.logsumexp) call.logsumexp[strip.index(r)] = logsumexp(shares);
      }
      multiply({scores, s.keys, 1, rows, s.width, y, s.width, attention_block, s.width, seen});
      for (std::int64_t r = 0; r < queries.count; ++r)
        for (std::int64_t i = 0; i < s.width; ++i) y[r * s.width + i] *= factor[r];
      store_head_rows(problem, call.y, head, queries, y);
    }
  }

  static std::int64_t backward_bytes(const AttentionShape& shape) {
    const Sizes s(shape);
    return 4 * (5 * s.keys_of_head + attention_block * (2 * s.keys + 3 * s.width)) +
           ScoreStrip::bytes(shape);
  }

  static void backward(const AttentionBackward& call, AttentionHead head, std::byte* scratch) {
    const AttentionProblem& problem = call.problem;
    const AttentionShape& shape = problem.shape;
    const Sizes s(shape);
    Cutter cut(scratch);
    float *k = cut.floats(s.keys_of_head), *keys = cut.floats(s.keys_of_head),
          *values = cut.floats(s.keys_of_head);
    float *dk = cut.floats(s.keys_of_head), *dv = cut.floats(s.keys_of_head);
    float *scores = cut.floats(attention_block * s.keys),
          *ds = cut.floats(attention_block * s.keys);
    float *q = cut.floats(attention_block * s.width), *dy = cut.floats(attention_block * s.width),
          *dq = cut.floats(attention_block * s.width);
    ScoreStrip strip(problem, head, cut.bytes(ScoreStrip::bytes(shape)));
    load_head_rows(problem, problem.v, head, {0, shape.keys}, k);
    transpose(k, s.keys, s.width, values);
    load_head_rows(problem, problem.k, head, {0, shape.keys}, k);
    transpose(k, s.keys, s.width, keys);
    for (std::int64_t i = 0; i < s.keys_of_head; ++i) dk[i] = dv[i] = 0;
    for (std::int64_t first = 0; first < shape.queries; first += attention_block) {
      const RowRange queries{first, least(attention_block, shape.queries - first)};
      strip.start(queries);
      const std::int64_t seen = strip.padded_keys();
      load_head_rows(problem, problem.q, head, queries, q);
      load_head_rows(problem, call.dy, head, queries, dy);
      multiply({q, s.width, 1, keys, s.keys, scores, s.keys, attention_block, seen, shape.width});
      multiply({dy, s.width, 1, values, s.keys, ds, s.keys, attention_block, seen, shape.width});
      for (std::int64_t r = 0; r < queries.count; ++r)
        gradients(strip.row(r, scores + r * s.keys), call.logsumexp[strip.index(r)],
                  ds + r * s.keys);
      multiply({ds, s.keys, 1, k, s.width, dq, s.width, attention_block, s.width, seen});
      multiply({scores, 1, s.keys, dy, s.width, dv, s.width, seen, s.width, queries.count, true});
      multiply({ds, 1, s.keys, q, s.width, dk, s.width, seen, s.width, queries.count, true});
      store_head_rows(problem, call.dq, head, queries, dq);
    }
    store_head_rows(problem, call.dk, head, {0, shape.keys}, dk);
    store_head_rows(problem, call.dv, head, {0, shape.keys}, dv);
  }

  static constexpr AttentionEngine engine() {
    return {.forward_bytes = forward_bytes,
            .backward_bytes = backward_bytes,
            .forward = forward,
            .backward = backward};
  }

 private:
  static std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
};

}  // namespace narrowgauge::cpu
