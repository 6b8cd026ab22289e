// SPDX-License-Identifier: Apache-2.0
// Loops over one strip that have a version for each instruction set: moments, gradient sums and
// exponentials. All versions give the same bits: sums over a strip use 16 lanes, whatever the width
// of a vector.
#pragma once

#include <array>
#include <cstdint>

namespace narrowgauge::cpu {

inline constexpr std::int64_t row_batch = 8;
using RowBatch = std::array<const float*, 8>;

struct StripMoments {
  float mean, squares;  // squares: of the deviations from the mean, summed
};

// Running moments per column, of values minus `shift`.
struct MomentColumns {
  const float* shift;
  float *mean, *squares;
};

// The gradient of layer normalization; normal = (x - mean) * inverse_std.
struct NormalStrip {
  const float *dy, *x, *scale;
  float mean, inverse_std;
  float *scale_sum, *bias_sum;  // += dy * normal, += dy
};
struct NormalSums {
  float gradient, product;  // of dy * scale, and of dy * scale * normal
};

// y = (x - shift - mean) * inverse_std * scale + bias
struct NormalizedStrip {
  const float *x, *scale, *bias;
  float shift, mean, inverse_std;
};

// sum = x + other of bf16, or of f32 if that is given.
struct NarrowSum {
  const std::uint16_t *x, *other;
  const float* wide_other;
  float shift;
  float* sum;
};

// x * factor where an element's 16 random bits are less than `below`, else 0; `kept`, if wanted,
// tells which.
struct DroppedStrip {
  const float* x;
  const std::uint16_t* bits;
  float below, factor;
  std::uint8_t* kept;
};

struct RowMath {
  // Joins rows to the moments of `count` columns, which already hold `before` rows.
  void (*join_eight)(const RowBatch& rows, const MomentColumns& columns, std::int64_t count,
                     std::int64_t before);
  void (*join_one)(const float* row, const MomentColumns& columns, std::int64_t count,
                   std::int64_t before);
  StripMoments (*moments)(const float* x, float shift, std::int64_t count);  // of x - shift
  NormalSums (*normal_gradient)(const NormalStrip& strip, std::int64_t count);
  // dx = inverse_std * (dy * scale - means.gradient - normal * means.product)
  void (*normal_dx)(const NormalStrip& strip, NormalSums means, std::int64_t count, float* dx);
  void (*normalize)(const NormalizedStrip& strip, std::int64_t count, float* y);
  // Sums a strip of whole sixteens and gives the moments of sum - shift; y as bf16.
  StripMoments (*narrow_sum_moments)(const NarrowSum& strip, std::int64_t count);
  void (*normalize_to_bf16)(const NormalizedStrip& strip, std::int64_t count, std::uint16_t* y);
  void (*add)(const float* a, const float* b, std::int64_t count, float* sum);
  void (*drop)(const DroppedStrip& strip, std::int64_t count, float* y);
  // y = x * factor where `kept` is not 0, else 0
  void (*drop_again)(const float* x, const std::uint8_t* kept, float factor, std::int64_t count,
                     float* y);
  // The largest of `start` and the values; NaN may be ignored.
  float (*largest)(const float* x, std::int64_t count, float start);
  float (*exponential_sum)(const float* x, float shift, std::int64_t count);  // of exp(x - shift)
  // sum[i] += exp(x[i] - shift[i])
  void (*add_exponentials)(const float* x, const float* shift, std::int64_t count, double* sum);
  // y[i] = exp(x[i] - shift) * factor; column_exponentials has a shift and factor for each element.
  void (*exponentials)(const float* x, float shift, float factor, std::int64_t count, float* y);
  void (*column_exponentials)(const float* x, const float* shift, const float* factor,
                              std::int64_t count, float* y);
};

const RowMath& row_math();  // the fastest that this CPU has, under the cap of isa()
extern const RowMath baseline_row_math;
namespace avx512 {
extern const RowMath row_math;
}

}  // namespace narrowgauge::cpu
