// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/quantize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"

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

// body(offset, count, channel) over runs of one channel, of at most a strip.
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

ValueRange value_range(const float* x, std::int64_t count) {
  constexpr std::int64_t piece = 16 * strip_length;
  std::vector<ValueRange> parts(static_cast<std::size_t>(ceil_divide(count, piece)));
  parallel_for(count, piece, [&](std::int64_t begin, std::int64_t end) {
    ValueRange range;
    for (std::int64_t i = begin; i < end; ++i) {
      range.least = x[i] < range.least ? x[i] : range.least;
      range.most = x[i] > range.most ? x[i] : range.most;
    }
    parts[static_cast<std::size_t>(begin / piece)] = range;
  });
  ValueRange all;
  for (const ValueRange& part : parts)
    all = {std::min(all.least, part.least), std::max(all.most, part.most)};
  return all;
}

}  // namespace narrowgauge::cpu
