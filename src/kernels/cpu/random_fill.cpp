// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/random_fill.h"

#include <algorithm>
#include <array>

#include "base/parallel.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t grain = 8192;
constexpr std::size_t lanes = 8;  // blocks of four numbers that are made together

using Lanes = std::array<std::uint32_t, lanes>;
using Bits = std::array<std::uint32_t, strip_length>;
using Strip = std::array<float, strip_length>;

// Halves of value * factor, which are 64 bits.
void multiply(const Lanes& value, std::uint32_t factor, Lanes& high, Lanes& low) {
  for (std::size_t l = 0; l < lanes; ++l) {
    const std::uint64_t product = std::uint64_t{factor} * value[l];
    high[l] = static_cast<std::uint32_t>(product >> 32);
    low[l] = static_cast<std::uint32_t>(product);
  }
}

// philox() of base/random.h for blocks first to first + 7.
void philox_lanes(const RandomStream& stream, std::uint64_t first, std::uint32_t* out) {
  Lanes x0, x1, x2, x3;
  for (std::size_t l = 0; l < lanes; ++l) {
    x0[l] = static_cast<std::uint32_t>(first + l);
    x1[l] = static_cast<std::uint32_t>((first + l) >> 32);
  }
  x2.fill(static_cast<std::uint32_t>(stream.step()));
  x3.fill(static_cast<std::uint32_t>(stream.step() >> 32));
  auto k0 = static_cast<std::uint32_t>(stream.key());
  auto k1 = static_cast<std::uint32_t>(stream.key() >> 32);
  for (int round = 0; round < 10; ++round) {
    Lanes high_a, low_a, high_b, low_b;
    multiply(x0, 0xD2511F53, high_a, low_a);
    multiply(x2, 0xCD9E8D57, high_b, low_b);
    for (std::size_t l = 0; l < lanes; ++l) {
      x0[l] = high_b[l] ^ x1[l] ^ k0;
      x2[l] = high_a[l] ^ x3[l] ^ k1;
    }
    x1 = low_b;
    x3 = low_a;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  for (std::size_t l = 0; l < lanes; ++l) {
    out[4 * l] = x0[l];
    out[4 * l + 1] = x1[l];
    out[4 * l + 2] = x2[l];
    out[4 * l + 3] = x3[l];
  }
}

float uniform_of(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24F; }

// fill(at, count, strip) makes the values of every strip.
template <class Fill>
void fill_strips(const Array& y, std::int64_t count, const Fill& fill) {
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) Strip buffer;
    for (std::int64_t at = begin; at < end; at += strip_length) {
      const std::int64_t length = std::min(strip_length, end - at);
      float* strip = result_strip(y, at, buffer.data());
      fill(at, length, strip);
      store_strip(y, at, length, strip);
    }
  });
}

}  // namespace

void random_bits(const RandomStream& stream, std::uint64_t first, std::int64_t count,
                 std::uint32_t* out) {
  constexpr std::int64_t at_once = 4 * std::int64_t(lanes);
  std::int64_t i = 0;
  for (; i < count && (first + std::uint64_t(i)) % 4 != 0; ++i)
    out[i] = stream.bits(first + std::uint64_t(i));
  for (; i + at_once <= count; i += at_once)
    philox_lanes(stream, (first + std::uint64_t(i)) / 4, out + i);
  for (; i < count; ++i) out[i] = stream.bits(first + std::uint64_t(i));
}

void fill_uniform(const RandomStream& stream, const Array& y, std::int64_t count, float low,
                  float high) {
  fill_strips(y, count, [&](std::int64_t at, std::int64_t length, float* strip) {
    alignas(64) Bits bits;
    random_bits(stream, std::uint64_t(at), length, bits.data());
    for (std::int64_t i = 0; i < length; ++i)
      strip[i] = low + (high - low) * uniform_of(bits[std::size_t(i)]);
  });
}

void fill_normal(const RandomStream& stream, const Array& y, std::int64_t count, float mean,
                 float deviation) {
  fill_strips(y, count, [&](std::int64_t at, std::int64_t length, float* strip) {
    for (std::int64_t i = 0; i < length; ++i)
      strip[i] = mean + deviation * stream.normal(std::uint64_t(at + i));
  });
}

void dropout(const Dropout& dropout, const RandomStream& stream) {
  const float keep = dropout.keep, scale = 1.0F / dropout.keep;
  fill_strips(dropout.y, dropout.count, [&](std::int64_t at, std::int64_t length, float* strip) {
    alignas(64) Bits bits;
    alignas(64) Strip buffer;
    random_bits(stream, std::uint64_t(at), length, bits.data());
    const float* x = load_strip(dropout.x, at, length, buffer.data());
#pragma GCC ivdep
    for (std::int64_t i = 0; i < length; ++i)
      strip[i] = uniform_of(bits[std::size_t(i)]) < keep ? x[i] * scale : 0.0F;
    if (!dropout.mask) return;
    for (std::int64_t i = 0; i < length; ++i)
      dropout.mask[at + i] = uniform_of(bits[std::size_t(i)]) < keep;
  });
}

}  // namespace narrowgauge::cpu
