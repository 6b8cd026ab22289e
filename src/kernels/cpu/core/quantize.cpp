// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/core/quantize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/indexed_vector.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/convert/keep_subnormals.h"

namespace narrowgauge::cpu {
namespace {

struct Bounds {
  float least, most;  // of round(x / scale)
};

Bounds bounds_of(DType dtype, std::int32_t zero) {
  const auto shift = static_cast<float>(zero);
  return dtype == DType::i8 ? Bounds{-128.0F - shift, 127.0F - shift}
                            : Bounds{0.0F - shift, 255.0F - shift};
}

void quantize_row(const float* x, std::int64_t count, float scale, std::int32_t zero, Bounds bounds,
                  std::uint8_t* y) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float ratio = x[i] / scale;
    const float number = ratio == ratio ? ratio : 0.0F;
    const float above = number < bounds.least ? bounds.least : number;
    const float kept = std::nearbyint(above > bounds.most ? bounds.most : above);
    y[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(kept) + zero);
  }
}

template <class Byte>
void dequantize_row(const Byte* x, std::int64_t count, float scale, std::int32_t zero, float* y) {
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = static_cast<float>(static_cast<std::int32_t>(x[i]) - zero) * scale;
}

// Calls body(offset, count, channel) over runs of one channel, of at most a strip.
template <class Body>
void each_run(const QuantizedLayout& layout, const Body& body) {
  const std::int64_t lines = layout.outer * layout.channels;
  const std::int64_t pieces = ceil_divide(layout.inner, strip_length);
  const std::int64_t grain = std::max<std::int64_t>(
      1, 16 * strip_length / std::max<std::int64_t>(1, std::min(layout.inner, strip_length)));
  parallel_for(lines * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t line = i / pieces, at = i % pieces * strip_length;
      body(line * layout.inner + at, std::min(strip_length, layout.inner - at),
           line % layout.channels);
    }
  });
}

}  // namespace

void quantize(ConstArray x, const QuantizedLayout& layout, const QuantizedScales& by, DType to,
              std::uint8_t* y) {
  each_run(layout, [&](std::int64_t offset, std::int64_t count, std::int64_t channel) {
    float buffer[strip_length];
    const std::int32_t zero = by.zeros[channel];
    quantize_row(load_strip(x, offset, count, buffer), count, by.scales[channel], zero,
                 bounds_of(to, zero), y + offset);
  });
}

void dequantize(const std::uint8_t* x, DType from, const QuantizedLayout& layout,
                const QuantizedScales& by, const Array& y) {
  each_run(layout, [&](std::int64_t offset, std::int64_t count, std::int64_t channel) {
    float buffer[strip_length];
    float* const strip = result_strip(y, offset, buffer);
    const float scale = by.scales[channel];
    const std::int32_t zero = by.zeros[channel];
    if (from == DType::i8)
      dequantize_row(reinterpret_cast<const std::int8_t*>(x) + offset, count, scale, zero, strip);
    else
      dequantize_row(x + offset, count, scale, zero, strip);
    store_strip(y, offset, count, strip);
  });
}

namespace {

// values[i] = of[place of element begin + i]
void spread(const ScalePlaces& places, const float* of, std::int64_t begin, std::int64_t count,
            float* values) {
  if (places.single) {
    std::fill_n(values, count, of[0]);
    return;
  }
  const std::int64_t blocks = places.block > 0 ? ceil_divide(places.size, places.block) : 0;
  for (std::int64_t i = 0; i < count;) {
    const std::int64_t at = begin + i, column = at % places.inner;
    const std::int64_t line = at / places.inner, place = line % places.size;
    const float* from = of + place;
    std::int64_t run = std::min(places.inner - column, count - i);
    if (blocks > 0) {
      from = of + (line / places.size * blocks + place / places.block) * places.inner + column;
      const std::int64_t left = std::min(places.block - place % places.block, places.size - place);
      if (places.inner == 1) run = std::min(left, count - i);
    }
    if (blocks > 0 && places.inner > 1)
      std::copy_n(from, run, values + i);
    else
      std::fill_n(values + i, run, *from);
    i += run;
  }
}

struct Limits {
  float least, most;
};

// Limits values to what can be stored; NaN passes.
void clamp(float* values, std::int64_t count, Limits limits) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float above = values[i] < limits.least ? limits.least : values[i];
    values[i] = above > limits.most ? limits.most : above;
  }
}

Limits limits_of(DType dtype) {
  const auto most = static_cast<float>(largest_finite(dtype));
  if (is_floating(dtype)) return {-most, most};
  return {is_unsigned(dtype) ? 0.0F : -most - 1, most};
}

// Calls body(offset, count) for strips that begin at whole bytes of any dtype.
template <class Body>
void each_strip(std::int64_t count, const Body& body) {
  parallel_for(count, 16 * strip_length, [&](std::int64_t begin, std::int64_t end) {
    const KeepSubnormals keep;
    for (std::int64_t at = begin; at < end; at += strip_length)
      body(at, std::min(strip_length, end - at));
  });
}

void round_whole(float* values, const float* zeros, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float number = values[i] == values[i] ? values[i] : 0.0F;
    values[i] = std::nearbyint(number) + zeros[i];
  }
}

}  // namespace

void quantize_blocks(ConstArray x, std::int64_t count, const BlockQuantization& by, DType to,
                     void* y) {
  const Limits limits = limits_of(to);
  const bool whole = !is_floating(to);
  each_strip(count, [&](std::int64_t offset, std::int64_t length) {
    float buffer[strip_length], values[strip_length], scales[strip_length];
    spread(by.places, by.scales, offset, length, scales);
    const float* const given = load_strip(x, offset, length, buffer);
    for (std::int64_t i = 0; i < length; ++i) values[i] = given[i] / scales[i];
    if (whole) {
      std::fill_n(scales, length, 0.0F);
      if (by.zeros) spread(by.places, by.zeros, offset, length, scales);
      round_whole(values, scales, length);
    }
    if (whole || by.saturate) clamp(values, length, limits);
    narrow_row(values, to, static_cast<std::byte*>(y) + bytes_for(offset, to), length);
  });
}

void dequantize_blocks(const void* x, DType from, std::int64_t count, const BlockQuantization& by,
                       const Array& y) {
  each_strip(count, [&](std::int64_t offset, std::int64_t length) {
    float buffer[strip_length], scales[strip_length];
    float* const values = result_strip(y, offset, buffer);
    widen_row(from, static_cast<const std::byte*>(x) + bytes_for(offset, from), values, length);
    if (by.zeros) {
      spread(by.places, by.zeros, offset, length, scales);
      for (std::int64_t i = 0; i < length; ++i) values[i] -= scales[i];
    }
    spread(by.places, by.scales, offset, length, scales);
    for (std::int64_t i = 0; i < length; ++i) values[i] *= scales[i];
    store_strip(y, offset, length, values);
  });
}

ValueRange value_range(const float* x, std::int64_t count) {
  constexpr std::int64_t piece = 16 * strip_length;
  IndexedVector<std::int64_t, ValueRange> parts(ceil_divide(count, piece));
  parallel_for(count, piece, [&](std::int64_t begin, std::int64_t end) {
    ValueRange range;
    for (std::int64_t i = begin; i < end; ++i) {
      range.least = x[i] < range.least ? x[i] : range.least;
      range.most = x[i] > range.most ? x[i] : range.most;
    }
    parts[begin / piece] = range;
  });
  ValueRange all;
  for (const ValueRange& part : parts)
    all = {std::min(all.least, part.least), std::max(all.most, part.most)};
  return all;
}

}  // namespace narrowgauge::cpu
