// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/batch_inner_norm.h"

#include "kernels/cpu/amx/row_formats.amx.h"

namespace narrowgauge::cpu::batch_inner::amx {
namespace {

using namespace cpu::amx;

constexpr std::int64_t rows = 32, channels = 32;

// Prefetches the block two further on; the hardware does not prefetch across pages.
template <class Rows>
[[gnu::always_inline]] inline void prefetch(const std::byte* row) {
  for (std::int64_t line = 0; line < Rows::row_bytes; line += 64)
    _mm_prefetch(reinterpret_cast<const char*>(row + 2 * rows * Rows::row_bytes + line),
                 _MM_HINT_T0);
}

struct Joined {
  Pair mean, squares;
};

// Joins the mean and squares of a block to those of `before` blocks (Chan, Golub, LeVeque 1979).
template <class Rows>
Joined join_block(const std::byte* block, const Pair& shift, const Joined& all, float before) {
  Pair sum[2] = {zeros(), zeros()};
  for (std::int64_t r = 0; r < rows; r += 2) {
    for (std::int64_t k = 0; k < 2; ++k) {
      const std::byte* row = block + (r + k) * Rows::row_bytes;
      prefetch<Rows>(row);
      sum[k] = sum[k] + (Rows::load(row) - shift);
    }
  }
  const Pair mean = (sum[0] + sum[1]) * (1.0F / rows);
  Pair squares[2] = {zeros(), zeros()};
  for (std::int64_t r = 0; r < rows; r += 2)
    for (std::int64_t k = 0; k < 2; ++k) {
      const Pair deviation = (Rows::load(block + (r + k) * Rows::row_bytes) - shift) - mean;
      squares[k] = fma(deviation, deviation, squares[k]);
    }
  const Pair delta = mean - all.mean;
  const float share = 1.0F / (before + 1);
  return {fma(delta, {_mm512_set1_ps(share), _mm512_set1_ps(share)}, all.mean),
          all.squares + squares[0] + squares[1] + delta * delta * (before * share * rows)};
}

// A NaN stays NaN, because max then returns its second operand.
inline Pair at_least_zero(const Pair& a) {
  return {_mm512_max_ps(_mm512_setzero_ps(), a.even), _mm512_max_ps(_mm512_setzero_ps(), a.odd)};
}

template <class Rows, bool add, bool relu>
std::int64_t affine_rows(const std::byte* x, const std::byte* other, Pixels pixels,
                         const Affine& affine, std::byte* y) {
  std::int64_t flushed = 0;
  for (std::int64_t pixel = 0; pixel < pixels.count; ++pixel)
    for (std::int64_t c = 0; c < pixels.blocks * channels; c += channels) {
      const Pair mean = Rows::load_vector(affine.mean + c);
      const Pair factor = Rows::load_vector(affine.factor + c);
      const Pair constant = Rows::load_vector(affine.constant + c);
      for (std::int64_t r = 0; r < rows; ++r, x += Rows::row_bytes, y += Rows::row_bytes) {
        prefetch<Rows>(x);
        Pair value = fma(Rows::load(x) - mean, factor, constant);
        if constexpr (add) {
          prefetch<Rows>(other);
          value = value + Rows::load(other);
          other += Rows::row_bytes;
        }
        Rows::store(y, relu ? at_least_zero(value) : value, flushed);
      }
    }
  return flushed;
}

template <class Rows>
void moments_of(const std::byte* x, Pixels pixels, const Moments& moments) {
  for (std::int64_t c = 0; c < pixels.blocks * channels; c += 16) {
    _mm512_storeu_ps(moments.mean + c, _mm512_setzero_ps());
    _mm512_storeu_ps(moments.squares + c, _mm512_setzero_ps());
  }
  for (std::int64_t pixel = 0; pixel < pixels.count; ++pixel)
    for (std::int64_t c = 0; c < pixels.blocks * channels; c += channels) {
      const Joined all = join_block<Rows>(
          x, Rows::load_vector(moments.shift + c),
          {Rows::load_vector(moments.mean + c), Rows::load_vector(moments.squares + c)},
          static_cast<float>(pixel));
      Rows::store_vector(moments.mean + c, all.mean);
      Rows::store_vector(moments.squares + c, all.squares);
      x += rows * Rows::row_bytes;
    }
}

template <class Rows>
void add_to(float* vector, const Pair& more) {
  Rows::store_vector(vector, Rows::load_vector(vector) + more);
}

template <class Rows>
void sums_of(const std::byte* dy, const std::byte* x, Pixels pixels, const Sums& sums) {
  for (std::int64_t c = 0; c < pixels.blocks * channels; c += 16)
    for (float* vector : {sums.dy, sums.product, sums.deviation})
      _mm512_storeu_ps(vector + c, _mm512_setzero_ps());
  for (std::int64_t pixel = 0; pixel < pixels.count; ++pixel)
    for (std::int64_t c = 0; c < pixels.blocks * channels; c += channels) {
      const Pair mean = Rows::load_vector(sums.mean + c);
      Pair sum = zeros(), product = zeros(), deviations = zeros();
      for (std::int64_t r = 0; r < rows; ++r, x += Rows::row_bytes, dy += Rows::row_bytes) {
        prefetch<Rows>(x);
        prefetch<Rows>(dy);
        const Pair deviation = Rows::load(x) - mean, slope = Rows::load(dy);
        sum = sum + slope;
        product = fma(slope, deviation, product);
        deviations = deviations + deviation;
      }
      add_to<Rows>(sums.dy + c, sum);
      add_to<Rows>(sums.product + c, product);
      add_to<Rows>(sums.deviation + c, deviations);
    }
}

template <class Rows, bool add>
std::int64_t gradient_rows(Slope at, Pixels pixels, const float* mean,
                           const GradientFactors& factors, std::byte* dx) {
  std::int64_t flushed = 0;
  for (std::int64_t pixel = 0; pixel < pixels.count; ++pixel)
    for (std::int64_t c = 0; c < pixels.blocks * channels; c += channels) {
      const Pair center = Rows::load_vector(mean + c);
      const Pair factor = Rows::load_vector(factors.factor + c);
      const Pair dy_mean = Rows::load_vector(factors.dy_mean + c);
      const Pair slope = Rows::load_vector(factors.slope + c);
      for (std::int64_t r = 0; r < rows; ++r) {
        prefetch<Rows>(at.x);
        prefetch<Rows>(at.dy);
        const Pair residue = fma(center - Rows::load(at.x), slope, Rows::load(at.dy) - dy_mean);
        Pair result = factor * residue;
        if constexpr (add) {
          prefetch<Rows>(at.other);
          result = result + Rows::load(at.other);
          at.other += Rows::row_bytes;
        }
        Rows::store(dx, result, flushed);
        at.x += Rows::row_bytes;
        at.dy += Rows::row_bytes;
        dx += Rows::row_bytes;
      }
    }
  return flushed;
}

}  // namespace

void moments(DType dtype, const std::byte* x, Pixels pixels, const Moments& moments) {
  with_rows(dtype, [&]<class Rows>() { moments_of<Rows>(x, pixels, moments); });
}

std::int64_t affine(DType dtype, const std::byte* x, const std::byte* other, Pixels pixels,
                    const Affine& affine, std::byte* y) {
  return with_rows(dtype, [&]<class Rows>() {
    if (other)
      return affine.relu ? affine_rows<Rows, true, true>(x, other, pixels, affine, y)
                         : affine_rows<Rows, true, false>(x, other, pixels, affine, y);
    return affine.relu ? affine_rows<Rows, false, true>(x, other, pixels, affine, y)
                       : affine_rows<Rows, false, false>(x, other, pixels, affine, y);
  });
}

void gradient_sums(DType dtype, const std::byte* dy, const std::byte* x, Pixels pixels,
                   const Sums& sums) {
  with_rows(dtype, [&]<class Rows>() { sums_of<Rows>(dy, x, pixels, sums); });
}

std::int64_t gradient(DType dtype, const Slope& slope, Pixels pixels, const float* mean,
                      const GradientFactors& factors, std::byte* dx) {
  return with_rows(dtype, [&]<class Rows>() {
    return slope.other ? gradient_rows<Rows, true>(slope, pixels, mean, factors, dx)
                       : gradient_rows<Rows, false>(slope, pixels, mean, factors, dx);
  });
}

}  // namespace narrowgauge::cpu::batch_inner::amx
