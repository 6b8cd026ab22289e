// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pool/byte_average_pool.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/threads/parallel.h"
#include "kernels/cpu/bytes/quantized_finish.h"
#include "kernels/cpu/core/window_axis.h"
#include "tensor/values.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t grain = 1 << 14;     // bytes that are added in a piece
constexpr std::int64_t average_lanes = 16;  // channels that are added together
constexpr std::int64_t few_windows = 64;
constexpr std::int64_t most_narrow = 128;  // bytes whose sum is within 16 bits

struct AverageTaps {
  std::int64_t begin, count, counted;  // the first place in x, places in x, places that count
};

struct AveragePoolAxis : WindowAxis {
  std::int64_t pad_end = 0;
  std::int64_t x_step = 0, y_step = 0;  // from element to element
  AverageTaps taps(std::int64_t at, PoolCount how) const {
    const std::int64_t first = at * stride - pad;
    const auto before = [&](std::int64_t end) {  // taps whose place is below `end`
      const std::int64_t apart = end - first;
      const std::int64_t taps = dilation == 1 ? apart : (apart + dilation - 1) / dilation;
      return std::clamp<std::int64_t>(taps, 0, kernel);
    };
    const std::int64_t begin = first < 0 ? before(0) : 0;
    const std::int64_t count = before(x) - begin;
    return {first + begin * dilation, count,
            how == PoolCount::with_pads ? before(x + pad_end) : count};
  }
};

// The numbers that turn the sums of a window into results.
struct PoolFinish {
  float factor;
  std::int32_t offset, y_zero;  // the offset is subtracted first
};

// Sums of 16 channels: `low` and `high` have 8 each, without what is in the narrow sums.
struct PoolSums {
  __m256i narrow, low, high;
};

void widen(PoolSums& sums) {
  const auto low = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(sums.narrow));
  const auto high = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(sums.narrow, 1));
  sums.low = _mm256_add_epi32(sums.low, low);
  sums.high = _mm256_add_epi32(sums.high, high);
  sums.narrow = _mm256_setzero_si256();
}

template <bool is_signed>
__m256i widened_bytes(const std::uint8_t* x) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  return is_signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

__m256 averaged(__m256i sums, const PoolFinish& by) {
  const __m256i moved = _mm256_sub_epi32(sums, _mm256_set1_epi32(by.offset));
  return _mm256_mul_ps(_mm256_cvtepi32_ps(moved), _mm256_set1_ps(by.factor));
}

__m256i rounded_average(__m256 values, const PoolFinish& by) {
  const __m256 numbers = _mm256_and_ps(values, _mm256_cmp_ps(values, values, _CMP_ORD_Q));
  const __m256 above = _mm256_max_ps(numbers, _mm256_set1_ps(-most_quantized_steps));
  const __m256 within = _mm256_min_ps(above, _mm256_set1_ps(most_quantized_steps));
  return _mm256_add_epi32(_mm256_cvtps_epi32(within), _mm256_set1_epi32(by.y_zero));
}

void store_average(const PoolSums& sums, const PoolFinish& by, DType dtype, std::byte* y) {
  const __m256 low = averaged(sums.low, by), high = averaged(sums.high, by);
  if (dtype == DType::f32) {
    _mm256_storeu_ps(reinterpret_cast<float*>(y), low);
    _mm256_storeu_ps(reinterpret_cast<float*>(y) + 8, high);
    return;
  }
  const __m256i halves = _mm256_packs_epi32(rounded_average(low, by), rounded_average(high, by));
  const __m256i narrow = _mm256_permute4x64_epi64(halves, 0xD8);  // back in order
  const __m128i first = _mm256_castsi256_si128(narrow),
                second = _mm256_extracti128_si256(narrow, 1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), dtype == DType::i8
                                                      ? _mm_packs_epi16(first, second)
                                                      : _mm_packus_epi16(first, second));
}

void store_average(std::int32_t sum, const PoolFinish& by, DType dtype, std::byte* y) {
  const float value = static_cast<float>(sum - by.offset) * by.factor;
  if (dtype == DType::f32) {
    *reinterpret_cast<float*>(y) = value;
    return;
  }
  const float number =
      std::isnan(value) ? 0 : std::clamp(value, -most_quantized_steps, most_quantized_steps);
  const std::int32_t whole = static_cast<std::int32_t>(std::nearbyint(number)) + by.y_zero;
  const std::int32_t least = dtype == DType::i8 ? -128 : 0;
  *y = static_cast<std::byte>(std::clamp(whole, least, least + 255));
}

// The places in x of a window, from the first one on.
struct Places {
  std::array<std::int64_t, 3> counts, steps;
  std::int64_t count() const { return counts[0] * counts[1] * counts[2]; }

  void each(const std::uint8_t* x, const auto& visit) const {
    for (std::int64_t i = 0; i < counts[0]; ++i)
      for (std::int64_t j = 0; j < counts[1]; ++j) {
        const std::uint8_t* at = x + i * steps[0] + j * steps[1];
        for (std::int64_t k = 0; k < counts[2]; ++k, at += steps[2]) visit(at);
      }
  }
};

// The sums of `count` times `average_lanes` channels over all places.
template <bool is_signed, std::size_t count>
std::array<PoolSums, count> sums_of(const std::uint8_t* x, const Places& places) {
  std::array<PoolSums, count> sums;
  sums.fill({_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()});
  std::int64_t added = 0;
  places.each(x, [&](const std::uint8_t* at) {
    for (std::size_t i = 0; i < count; ++i)
      sums[i].narrow =
          _mm256_add_epi16(sums[i].narrow, widened_bytes<is_signed>(at + i * average_lanes));
    if (++added % most_narrow == 0)
      for (PoolSums& each : sums) widen(each);
  });
  for (PoolSums& each : sums) widen(each);
  return sums;
}

template <bool is_signed>
std::int32_t window_sum(const std::uint8_t* x, const Places& places) {
  std::int32_t sum = 0;
  places.each(
      x, [&](const std::uint8_t* at) { sum += is_signed ? static_cast<std::int8_t>(*at) : *at; });
  return sum;
}

double pool_number(const Call& call, int input, DType dtype, double missing) {
  return call.inputs[input] ? load_element(dtype, call.inputs[input], 0) : missing;
}

template <bool is_signed>
class ByteAveragePool {
 public:
  ByteAveragePool(const View& x, const View& y, const PoolWindow& window, PoolCount how)
      : x_(x), y_(y), how_(how) {
    const std::size_t spatial = x.dims.size() - 2;
    for (std::size_t i = 0; i < spatial; ++i)
      axes_[3 - spatial + i] = {{x.dims[i + 2], y.dims[i + 2], window.kernel[i], window.strides[i],
                                 window.dilations[i], window.pads_begin[i]},
                                window.pads_end[i],
                                x.strides[i + 2],
                                y.strides[i + 2]};
  }

  void run(const Call& call) const {
    const auto& [z, y, x] = axes_;
    const auto y_scale = static_cast<float>(pool_number(call, average_y_scale, DType::f32, 1));
    const auto x_scale = static_cast<float>(pool_number(call, average_x_scale, DType::f32, 1));
    const PoolFinish steps{
        x_scale / y_scale,
        static_cast<std::int32_t>(pool_number(call, average_x_zero, x_.dtype, 0)),
        static_cast<std::int32_t>(pool_number(call, average_y_zero, y_.dtype, 0))};
    const std::int64_t pixels = y_.dims[0] * z.y * y.y * x.y;
    // Few windows are shared between threads by their channels.
    const std::int64_t block = pixels < few_windows ? 4 * average_lanes : y_.dims[1];
    const std::int64_t blocks = (y_.dims[1] + block - 1) / std::max<std::int64_t>(block, 1);
    const std::int64_t work = z.kernel * y.kernel * x.kernel * block;
    parallel_for(
        pixels * blocks, std::max<std::int64_t>(grain / std::max<std::int64_t>(work, 1), 1),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i % blocks * block;
            one_pixel(call, steps, i / blocks, {first, std::min(first + block, y_.dims[1])});
          }
        });
  }

 private:
  struct Channels {
    std::int64_t begin, end;
  };

  void one_pixel(const Call& call, PoolFinish by, std::int64_t pixel, Channels channels) const {
    std::array<std::int64_t, 3> at{};
    for (std::size_t i = 3; i-- > 0; pixel /= axes_[i].y) at[i] = pixel % axes_[i].y;
    std::int64_t from = pixel * x_.strides[0], to = pixel * y_.strides[0], counted = 1;
    Places places{};
    for (std::size_t i = 0; i < 3; ++i) {
      const AverageTaps taps = axes_[i].taps(at[i], how_);
      from += taps.begin * axes_[i].x_step;
      to += at[i] * axes_[i].y_step;
      counted *= taps.counted;
      places.counts[i] = taps.count;
      places.steps[i] = axes_[i].dilation * axes_[i].x_step;
    }
    by.factor /= static_cast<float>(std::max<std::int64_t>(counted, 1));
    by.offset *= static_cast<std::int32_t>(places.count());
    const auto* const x = static_cast<const std::uint8_t*>(call.inputs[average_x]) + from;
    auto* const y = static_cast<std::byte*>(call.outputs[0]) + to * bytes_for(1, y_.dtype);
    add_up(x, places, by, channels, y);
  }

  void add_up(const std::uint8_t* x, const Places& places, const PoolFinish& by, Channels channels,
              std::byte* y) const {
    const std::int64_t size = bytes_for(1, y_.dtype);
    std::int64_t c = channels.begin;
    if (x_.strides[1] == 1 && y_.strides[1] == 1) {
      add_up_together<4>(x, places, by, channels, y, c);
      add_up_together<1>(x, places, by, channels, y, c);
    }
    for (; c < channels.end; ++c)
      store_average(window_sum<is_signed>(x + c * x_.strides[1], places), by, y_.dtype,
                    y + c * y_.strides[1] * size);
  }

  template <std::size_t count>
  void add_up_together(const std::uint8_t* x, const Places& places, const PoolFinish& by,
                       Channels channels, std::byte* y, std::int64_t& c) const {
    constexpr auto wide = static_cast<std::int64_t>(count) * average_lanes;
    const std::int64_t size = bytes_for(1, y_.dtype);
    for (; c + wide <= channels.end; c += wide) {
      const auto sums = sums_of<is_signed, count>(x + c, places);
      for (std::size_t i = 0; i < count; ++i)
        store_average(sums[i], by, y_.dtype,
                      y + (c + static_cast<std::int64_t>(i) * average_lanes) * size);
    }
  }

  View x_, y_;
  PoolCount how_;
  std::array<AveragePoolAxis, 3> axes_;
};

template <bool is_signed>
Prepared prepared(const View& x, const View& y, const PoolWindow& window, PoolCount count) {
  return {"bytes", 0, [pool = ByteAveragePool<is_signed>(x, y, window, count)](const Call& call) {
            pool.run(call);
          }};
}

}  // namespace

std::string byte_average_pool_reason(const PoolWindow& window) {
  constexpr std::int64_t most = (std::int64_t{1} << 31) / 256;
  const std::int64_t places = element_count(window.kernel);
  return places > most ? concat("sums of ", places, " bytes may be beyond 32 bits") : "";
}

Prepared prepare_byte_average_pool(const View& x, const View& y, const PoolWindow& window,
                                   PoolCount count) {
  require(x.dims.size() == y.dims.size() && x.dims.size() >= 3 && x.dims.size() <= 5,
          "average pool of bytes: expected one to three spatial axes, got x ", x.dims, " and y ",
          y.dims);
  return (x.dtype == DType::i8 ? prepared<true> : prepared<false>)(x, y, window, count);
}

}  // namespace narrowgauge::cpu
