// SPDX-License-Identifier: Apache-2.0
// The loops of row_math.h over any vector type with the members of simd.h.
#pragma once

#include <cstdint>

#include "kernels/cpu/lanes/row_math.h"

namespace narrowgauge::cpu {

template <class Float>
struct RowLoops {
  static constexpr std::int64_t lanes = Float::lanes;
  static constexpr int parts = 16 / Float::lanes;  // vectors that hold 16 lanes

  // Sixteen partial sums.
  struct Sixteen {
    Float part[parts];

    static Sixteen set(float x) {
      Sixteen result;
      for (Float& part : result.part) part = Float::set(x);
      return result;
    }
    // Adds halves, so that the order does not depend on the width of a vector.
    float sum() const { return Float::sum_of_sixteen(part); }
    float largest() const { return Float::largest_of_sixteen(part); }
  };

  // The lanes of a vector that hold elements: all of them, or the first `count`.
  struct Whole {
    Float load(const float* from, float = 0) const { return Float::load(from); }
    void store(float* to, Float value) const { value.store(to); }
    Float keep(Float value) const { return value; }
    Float fill(Float value, float) const { return value; }
  };
  struct Part {
    std::int64_t count;
    Float load(const float* from, float fill = 0) const {
      return Float::load_first(from, count, fill);
    }
    void store(float* to, Float value) const { value.store_first(to, count); }
    Float keep(Float value) const { return value.keep_first(count); }  // 0 elsewhere
    Float fill(Float value, float other) const { return value.fill_rest(count, other); }
  };

  // Calls term(lanes, at, part) for the vectors of sixteen elements after sixteen.
  template <class Term>
  static void over(std::int64_t count, const Term& term) {
    std::int64_t i = 0;
    for (; i + 16 <= count; i += 16)
      for (int p = 0; p < parts; ++p) term(Whole{}, i + p * lanes, p);
    if (i == count) return;
    for (int p = 0; p < parts; ++p) term(Part{count - i - p * lanes}, i + p * lanes, p);
  }

  // Calls body(lanes, at) for one vector after the other.
  template <class Body>
  static void each(std::int64_t count, const Body& body) {
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) body(Whole{}, i);
    if (i < count) body(Part{count - i}, i);
  }

  // e^x within 1 ulp; overflow gives inf, underflow subnormals and 0, NaN stays NaN. Reduction by
  // Cody and Waite, polynomial of Cephes' expf (Moshier).
  static Float exponential(Float x) {
    const Float to_integer = Float::set(0x1.8p23F);  // added and taken off again, it rounds
    x = min(Float::set(89.0F), max(Float::set(-104.0F), x));
    const Float shifted = fma(x, Float::set(1.44269504088896341F), to_integer);
    const Float n = shifted - to_integer;
    const Float r = fma(n, Float::set(2.12194440e-4F), fma(n, Float::set(-0.693359375F), x));
    Float p = Float::set(1.9875691500e-4F);
    p = fma(p, r, Float::set(1.3981999507e-3F));
    p = fma(p, r, Float::set(8.3334519073e-3F));
    p = fma(p, r, Float::set(4.1665795894e-2F));
    p = fma(p, r, Float::set(1.6666665459e-1F));
    p = fma(p, r, Float::set(5.0000001201e-1F));
    p = fma(p, r * r, r) + Float::set(1.0F);
    return Float::scale(p, shifted);
  }

  // Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample
  // variances", 1979.
  template <int Rows, class Lanes>
  static void join(const float* const* row, const MomentColumns& columns, Float weight,
                   Float spread, std::int64_t at, const Lanes& part) {
    const Float shift = part.load(columns.shift + at);
    Float value[Rows], sum[Rows];
    for (int i = 0; i < Rows; ++i) sum[i] = value[i] = part.load(row[i] + at) - shift;
    for (int half = Rows / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) sum[i] = sum[i] + sum[i + half];
    const Float center = sum[0] * Float::set(1.0F / Rows);
    Float squares = Float::set(0.0F);
    // x - x is NaN for what is not finite, with one row too
    for (int i = 0; i < Rows; ++i) squares = fma(value[i] - center, value[i] - center, squares);
    const Float mean = part.load(columns.mean + at);
    const Float delta = center - mean;
    part.store(columns.mean + at, fma(delta, weight, mean));
    part.store(columns.squares + at,
               part.load(columns.squares + at) + fma(delta * delta, spread, squares));
  }

  template <int Rows>
  static void join_rows(const float* const* rows, const MomentColumns& columns, std::int64_t count,
                        std::int64_t before) {
    const float added = float(Rows) / float(before + Rows);
    const Float weight = Float::set(added), spread = Float::set(float(before) * added);
    const float* row[Rows];
    for (int i = 0; i < Rows; ++i) row[i] = rows[i];
    each(count, [&](const auto& part, std::int64_t at) {
      join<Rows>(row, columns, weight, spread, at, part);
    });
  }

  static void join_eight(const RowBatch& rows, const MomentColumns& columns, std::int64_t count,
                         std::int64_t before) {
    join_rows<8>(&rows[0], columns, count, before);
  }
  static void join_one(const float* row, const MomentColumns& columns, std::int64_t count,
                       std::int64_t before) {
    join_rows<1>(&row, columns, count, before);
  }

  static StripMoments moments(const float* x, float shift, std::int64_t count) {
    const Float shifts = Float::set(shift);
    Sixteen sum = Sixteen::set(0.0F);
    over(count, [&](const auto& part, std::int64_t at, int p) {
      sum.part[p] = sum.part[p] + (part.load(x + at, shift) - shifts);
    });
    return around_mean(x, shift, count, sum);
  }
  static StripMoments narrow_sum_moments(const NarrowSum& strip, std::int64_t count) {
    return strip.wide_other ? sum_moments(strip, strip.wide_other, count)
                            : sum_moments(strip, narrow(strip.other), count);
  }
  template <class Element>
  static StripMoments sum_moments(const NarrowSum& strip, const Element* other,
                                  std::int64_t count) {
    const Float shifts = Float::set(strip.shift);
    Sixteen sum = Sixteen::set(0.0F);
    over(count, [&](const auto&, std::int64_t at, int p) {
      const Float value = Float::load(narrow(strip.x + at)) + Float::load(other + at);
      value.store(strip.sum + at);
      sum.part[p] = sum.part[p] + (value - shifts);
    });
    return around_mean(strip.sum, strip.shift, count, sum);
  }
  // `sum` of x - shift.
  static StripMoments around_mean(const float* x, float shift, std::int64_t count,
                                  const Sixteen& sum) {
    const float mean = sum.sum() / float(count);
    const Float shifts = Float::set(shift), center = Float::set(mean);
    Sixteen squares = Sixteen::set(0.0F);
    over(count, [&](const auto& part, std::int64_t at, int p) {
      const Float d = part.keep(part.load(x + at) - shifts - center);
      squares.part[p] = fma(d, d, squares.part[p]);
    });
    return {mean, squares.sum()};
  }
  static const typename Float::Bf16* narrow(const std::uint16_t* bits) {
    return reinterpret_cast<const typename Float::Bf16*>(bits);
  }

  static NormalSums normal_gradient(const NormalStrip& strip, std::int64_t count) {
    const Float mean = Float::set(strip.mean), inverse = Float::set(strip.inverse_std);
    Sixteen gradient = Sixteen::set(0.0F), product = gradient;
    over(count, [&](const auto& part, std::int64_t at, int p) {
      const Float g = part.load(strip.dy + at) * part.load(strip.scale + at);
      const Float normal = (part.load(strip.x + at, strip.mean) - mean) * inverse;
      gradient.part[p] = gradient.part[p] + g;
      product.part[p] = fma(g, normal, product.part[p]);
    });
    each(count, [&](const auto& part, std::int64_t at) {
      const Float dy = part.load(strip.dy + at),
                  normal = (part.load(strip.x + at) - mean) * inverse;
      part.store(strip.scale_sum + at, fma(dy, normal, part.load(strip.scale_sum + at)));
      part.store(strip.bias_sum + at, part.load(strip.bias_sum + at) + dy);
    });
    return {gradient.sum(), product.sum()};
  }

  static void normal_dx(const NormalStrip& strip, NormalSums means, std::int64_t count, float* dx) {
    const Float mean = Float::set(strip.mean), inverse = Float::set(strip.inverse_std);
    const Float gradient = Float::set(-means.gradient), product = Float::set(means.product);
    each(count, [&](const auto& part, std::int64_t at) {
      const Float normal = (part.load(strip.x + at) - mean) * inverse;
      const Float g = fma(part.load(strip.dy + at), part.load(strip.scale + at), gradient);
      part.store(dx + at, inverse * (g - normal * product));
    });
  }

  template <class Lanes>
  static Float normalized(const NormalizedStrip& strip, const Lanes& part, std::int64_t at) {
    const Float normal =
        (part.load(strip.x + at) - Float::set(strip.shift) - Float::set(strip.mean)) *
        Float::set(strip.inverse_std);
    return fma(normal, part.load(strip.scale + at), part.load(strip.bias + at));
  }
  static void normalize(const NormalizedStrip& strip, std::int64_t count, float* y) {
    each(count, [&](const auto& part, std::int64_t at) {
      part.store(y + at, normalized(strip, part, at));
    });
  }
  static void normalize_to_bf16(const NormalizedStrip& strip, std::int64_t count,
                                std::uint16_t* y) {
    each(count, [&](const auto& part, std::int64_t at) {
      normalized(strip, part, at).store_bf16(y + at);
    });
  }
  static void add(const float* a, const float* b, std::int64_t count, float* sum) {
    each(count, [&](const auto& part, std::int64_t at) {
      part.store(sum + at, part.load(a + at) + part.load(b + at));
    });
  }

  static void drop(const DroppedStrip& strip, std::int64_t count, float* y) {
    const Float below = Float::set(strip.below), factor = Float::set(strip.factor);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      const Float bits = Float::of_shorts(strip.bits + i);
      where_less(bits, below, Float::load(strip.x + i) * factor).store(y + i);
      if (strip.kept) Float::store_less(bits, below, strip.kept + i);
    }
    for (; i < count; ++i) {
      const bool kept = float(strip.bits[i]) < strip.below;
      y[i] = kept ? strip.x[i] * strip.factor : 0.0F;
      if (strip.kept) strip.kept[i] = kept;
    }
  }

  static void drop_again(const float* x, const std::uint8_t* kept, float factor, std::int64_t count,
                         float* y) {
    const Float factors = Float::set(factor);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
      Float::where_bytes(kept + i, Float::load(x + i) * factors).store(y + i);
    for (; i < count; ++i) y[i] = kept[i] ? x[i] * factor : 0.0F;
  }

  static float largest(const float* x, std::int64_t count, float start) {
    Sixteen most = Sixteen::set(start);
    over(count, [&](const auto& part, std::int64_t at, int p) {
      most.part[p] = max(part.load(x + at, start), most.part[p]);
    });
    return most.largest();
  }

  static float exponential_sum(const float* x, float shift, std::int64_t count) {
    const Float shifts = Float::set(shift);
    Sixteen sum = Sixteen::set(0.0F);
    over(count, [&](const auto& part, std::int64_t at, int p) {
      sum.part[p] = sum.part[p] + part.keep(exponential(part.load(x + at) - shifts));
    });
    return sum.sum();
  }

  static void add_exponentials(const float* x, const float* shift, std::int64_t count,
                               double* sum) {
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
      Float::add_to(sum + i, exponential(Float::load(x + i) - Float::load(shift + i)));
    if (i == count) return;
    float rest[lanes];
    exponential(Float::load_first(x + i, count - i, 0.0F) -
                Float::load_first(shift + i, count - i, 0.0F))
        .store(rest);
    for (std::int64_t l = 0; i < count; ++i, ++l) sum[i] += double(rest[l]);
  }

  static void exponentials(const float* x, float shift, float factor, std::int64_t count,
                           float* y) {
    const Float shifts = Float::set(shift), factors = Float::set(factor);
    each(count, [&](const auto& part, std::int64_t at) {
      part.store(y + at, exponential(part.load(x + at) - shifts) * factors);
    });
  }

  static void column_exponentials(const float* x, const float* shift, const float* factor,
                                  std::int64_t count, float* y) {
    each(count, [&](const auto& part, std::int64_t at) {
      part.store(y + at,
                 exponential(part.load(x + at) - part.load(shift + at)) * part.load(factor + at));
    });
  }

  static constexpr RowMath table() {
    return {.join_eight = join_eight,
            .join_one = join_one,
            .moments = moments,
            .normal_gradient = normal_gradient,
            .normal_dx = normal_dx,
            .normalize = normalize,
            .narrow_sum_moments = narrow_sum_moments,
            .normalize_to_bf16 = normalize_to_bf16,
            .add = add,
            .drop = drop,
            .drop_again = drop_again,
            .largest = largest,
            .exponential_sum = exponential_sum,
            .add_exponentials = add_exponentials,
            .exponentials = exponentials,
            .column_exponentials = column_exponentials};
  }
};

}  // namespace narrowgauge::cpu
