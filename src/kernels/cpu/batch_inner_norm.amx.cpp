// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/batch_inner_norm.h"

#include "kernels/cpu/pairs.amx.h"

namespace narrowgauge::cpu::batch_inner::amx {
namespace {

using namespace cpu::amx;

constexpr std::int64_t rows = 32, row_bytes = 64, block_bytes = 2048, channels = 32;

// The block two further on, which the hardware's own prefetching does not reach across pages.
inline void prefetch(const std::byte* row) {
  _mm_prefetch(reinterpret_cast<const char*>(row + 2 * block_bytes), _MM_HINT_T0);
}

struct Joined {
  Pair mean, squares;
};

// Mean and squares of a block, joined to those of `before` blocks (Chan, Golub, LeVeque 1979).
Joined join_block(const std::byte* block, const Pair& shift, const Joined& all, float before) {
  Pair sum[2] = {zeros(), zeros()};
  for (std::int64_t r = 0; r < rows; r += 2) {
    prefetch(block + r * row_bytes);
    prefetch(block + (r + 1) * row_bytes);
    sum[0] = sum[0] + (load_row(block + r * row_bytes) - shift);
    sum[1] = sum[1] + (load_row(block + (r + 1) * row_bytes) - shift);
  }
  const Pair mean = (sum[0] + sum[1]) * (1.0F / rows);
  Pair squares[2] = {zeros(), zeros()};
  for (std::int64_t r = 0; r < rows; r += 2)
    for (std::int64_t k = 0; k < 2; ++k) {
      const Pair deviation = (load_row(block + (r + k) * row_bytes) - shift) - mean;
      squares[k] = fma(deviation, deviation, squares[k]);
    }
  const Pair delta = mean - all.mean;
  const float share = 1.0F / (before + 1);
  return {fma(delta, {_mm512_set1_ps(share), _mm512_set1_ps(share)}, all.mean),
          all.squares + squares[0] + squares[1] + delta * delta * (before * share * rows)};
}

// A NaN stays one: max gives its second operand then.
inline Pair at_least_zero(const Pair& a) {
  return {_mm512_max_ps(_mm512_setzero_ps(), a.even), _mm512_max_ps(_mm512_setzero_ps(), a.odd)};
}

template <bool add, bool relu>
void affine_rows(const std::byte* x, const std::byte* other, Pixels pixels, const Affine& affine,
                 std::byte* y) {
  for (std::int64_t pixel = 0; pixel < pixels.count; ++pixel)
    for (std::int64_t c = 0; c < pixels.blocks * channels; c += channels) {
      const Pair mean = load_vector(affine.mean + c), factor = load_vector(affine.factor + c);
      const Pair constant = load_vector(affine.constant + c);
      for (std::int64_t r = 0; r < rows; ++r, x += row_bytes, y += row_bytes) {
        prefetch(x);
        Pair value = fma(load_row(x) - mean, factor, constant);
        if constexpr (add) {
          prefetch(other);
          value = value + load_row(other);
          other += row_bytes;
        }
        store_row(y, relu ? at_least_zero(value) : value);
      }
    }
}

}  // namespace

void moments(const std::byte* x, Pixels pixels, const Moments& moments) {
  for (std::int64_t c = 0; c < pixels.blocks * channels; c += 16) {
    _mm512_storeu_ps(moments.mean + c, _mm512_setzero_ps());
    _mm512_storeu_ps(moments.squares + c, _mm512_setzero_ps());
  }
  for (std::int64_t pixel = 0; pixel < pixels.count; ++pixel)
    for (std::int64_t c = 0; c < pixels.blocks * channels; c += channels, x += block_bytes) {
      const Joined all =
          join_block(x, load_vector(moments.shift + c),
                     {load_vector(moments.mean + c), load_vector(moments.squares + c)},
                     static_cast<float>(pixel));
      store_vector(moments.mean + c, all.mean);
      store_vector(moments.squares + c, all.squares);
    }
}

void affine(const std::byte* x, const std::byte* other, Pixels pixels, const Affine& affine,
            std::byte* y) {
  if (other)
    affine.relu ? affine_rows<true, true>(x, other, pixels, affine, y)
                : affine_rows<true, false>(x, other, pixels, affine, y);
  else
    affine.relu ? affine_rows<false, true>(x, other, pixels, affine, y)
                : affine_rows<false, false>(x, other, pixels, affine, y);
}

void gradient_sums(const std::byte* dy, const std::byte* x, Pixels pixels, const Sums& sums) {
  for (std::int64_t c = 0; c < pixels.blocks * channels; c += 16)
    for (float* vector : {sums.dy, sums.product, sums.deviation})
      _mm512_storeu_ps(vector + c, _mm512_setzero_ps());
  for (std::int64_t pixel = 0; pixel < pixels.count; ++pixel)
    for (std::int64_t c = 0; c < pixels.blocks * channels; c += channels) {
      const Pair mean = load_vector(sums.mean + c);
      Pair sum = zeros(), product = zeros(), deviations = zeros();
      for (std::int64_t r = 0; r < rows; ++r, x += row_bytes, dy += row_bytes) {
        prefetch(x);
        prefetch(dy);
        const Pair deviation = load_row(x) - mean, slope = load_row(dy);
        sum = sum + slope;
        product = fma(slope, deviation, product);
        deviations = deviations + deviation;
      }
      store_vector(sums.dy + c, load_vector(sums.dy + c) + sum);
      store_vector(sums.product + c, load_vector(sums.product + c) + product);
      store_vector(sums.deviation + c, load_vector(sums.deviation + c) + deviations);
    }
}

namespace {

template <bool add>
void gradient_rows(Slope at, Pixels pixels, const float* mean, const GradientFactors& factors,
                   std::byte* dx) {
  for (std::int64_t pixel = 0; pixel < pixels.count; ++pixel)
    for (std::int64_t c = 0; c < pixels.blocks * channels; c += channels) {
      const Pair center = load_vector(mean + c), factor = load_vector(factors.factor + c);
      const Pair dy_mean = load_vector(factors.dy_mean + c);
      const Pair slope = load_vector(factors.slope + c);
      for (std::int64_t r = 0; r < rows; ++r) {
        prefetch(at.x);
        prefetch(at.dy);
        const Pair residue = fma(center - load_row(at.x), slope, load_row(at.dy) - dy_mean);
        Pair result = factor * residue;
        if constexpr (add) {
          prefetch(at.other);
          result = result + load_row(at.other);
          at.other += row_bytes;
        }
        store_row(dx, result);
        at.x += row_bytes;
        at.dy += row_bytes;
        dx += row_bytes;
      }
    }
}

}  // namespace

void gradient(const Slope& slope, Pixels pixels, const float* mean, const GradientFactors& factors,
              std::byte* dx) {
  slope.other ? gradient_rows<true>(slope, pixels, mean, factors, dx)
              : gradient_rows<false>(slope, pixels, mean, factors, dx);
}

}  // namespace narrowgauge::cpu::batch_inner::amx
