// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/convert/convert.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/machine/cpu.h"
#include "kernels/cpu/convert/convert_rows.h"
#include "kernels/cpu/lanes/bf16_lanes.h"
#include "narrowgauge/error.h"
#include "tensor/format.h"
#include "tensor/small_floats.h"
#include "tensor/values.h"

namespace narrowgauge::cpu {
namespace avx2 {
namespace {

constexpr int lanes = 8;
constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

__m256 widen_f16_lanes(__m128i x) { return _mm256_cvtph_ps(x); }

__m256 widen_bf16_lanes(__m128i x) {
  const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16);
  const __m256i quiet = _mm256_and_si256(nan_lanes(wide), _mm256_set1_epi32(0x00400000));
  return _mm256_castsi256_ps(_mm256_or_si256(wide, quiet));
}

// VCVTPS2PH keeps f16 subnormals under flush-to-zero; f32 subnormals lie below half of the least
// f16 and become zero either way.
__m128i narrow_f16_lanes(__m256i x) { return _mm256_cvtps_ph(_mm256_castsi256_ps(x), nearest); }

template <auto lanes_of>
void widen(const std::uint16_t* in, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    _mm256_storeu_ps(out + i, lanes_of(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  if (i == count) return;
  std::array<std::uint16_t, lanes> rest{};
  std::array<float, lanes> wide;
  std::memcpy(rest.data(), in + i, static_cast<std::size_t>(count - i) * 2);
  widen<lanes_of>(rest.data(), wide.data(), lanes);
  std::memcpy(out + i, wide.data(), static_cast<std::size_t>(count - i) * 4);
}

__m256i flushed_lanes(__m256i before, __m128i after) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i was_zero =
      _mm256_cmpeq_epi32(_mm256_and_si256(before, _mm256_set1_epi32(0x7fffffff)), zero);
  const __m256i is_zero =
      _mm256_cmpeq_epi32(_mm256_cvtepu16_epi32(_mm_and_si128(after, _mm_set1_epi16(0x7fff))), zero);
  return _mm256_andnot_si256(was_zero, is_zero);
}

template <auto lanes_of>
std::int64_t narrow(const float* in, std::uint16_t* out, std::int64_t count) {
  std::int64_t i = 0, flushed = 0;
  for (; i + lanes <= count; i += lanes) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
    const __m128i y = lanes_of(x);
    const int mask = _mm256_movemask_ps(_mm256_castsi256_ps(flushed_lanes(x, y)));
    flushed += __builtin_popcount(static_cast<unsigned>(mask));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), y);
  }
  if (i == count) return flushed;
  std::array<float, lanes> rest{};
  std::array<std::uint16_t, lanes> narrowed;
  std::memcpy(rest.data(), in + i, static_cast<std::size_t>(count - i) * 4);
  flushed += narrow<lanes_of>(rest.data(), narrowed.data(), lanes);
  std::memcpy(out + i, narrowed.data(), static_cast<std::size_t>(count - i) * 2);
  return flushed;
}

constexpr RowConversions row_conversions{widen<widen_f16_lanes>, widen<widen_bf16_lanes>,
                                         narrow<narrow_f16_lanes>, narrow<narrowed_to_bf16>};

}  // namespace
}  // namespace avx2

namespace {

const RowConversions& conversions() {
  static const RowConversions& chosen =
      isa() >= Isa::avx512 ? avx512::row_conversions : avx2::row_conversions;
  return chosen;
}

template <class T>
void widen_elements(const void* in, float* out, std::int64_t count) {
  const T* from = static_cast<const T*>(in);
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(from[i]);
}

// Avoids the CPU's conversion, which makes f32 subnormals zero during a run.
void widen_doubles(const void* in, float* out, std::int64_t count) {
  const auto* from = static_cast<const double*>(in);
  for (std::int64_t i = 0; i < count; ++i) out[i] = narrow<float>(from[i]);
}

void widen_booleans(const void* in, float* out, std::int64_t count) {
  const auto* from = static_cast<const std::uint8_t*>(in);
  for (std::int64_t i = 0; i < count; ++i) out[i] = from[i] != 0 ? 1.0F : 0.0F;
}

// Two values share a byte, the low half first.
void widen_f4(const void* in, float* out, std::int64_t count) {
  static const auto table = [] {
    std::array<std::array<float, 2>, 256> values;
    for (unsigned i = 0; i < 256; ++i)
      values[i] = {widen(f4e2m1{static_cast<std::uint8_t>(i & 15)}),
                   widen(f4e2m1{static_cast<std::uint8_t>(i >> 4)})};
    return values;
  }();
  const auto* from = static_cast<const std::uint8_t*>(in);
  for (std::int64_t i = 0; i + 2 <= count; i += 2)
    std::memcpy(out + i, table[from[i / 2]].data(), 2 * sizeof(float));
  if (count % 2 != 0) out[count - 1] = table[from[count / 2]][0];
}

template <class F8>
void widen_bytes(const void* in, float* out, std::int64_t count) {
  static const auto table = [] {
    std::array<float, 256> values;
    for (unsigned i = 0; i < 256; ++i) values[i] = widen(F8{static_cast<std::uint8_t>(i)});
    return values;
  }();
  const auto* from = static_cast<const std::uint8_t*>(in);
  for (std::int64_t i = 0; i < count; ++i) out[i] = table[from[i]];
}

// During a run a subnormal compares equal to zero and converts to it; its bits still differ.
bool is_nonzero(float value) { return std::bit_cast<std::uint32_t>(value) << 1 != 0; }

double exact_double(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (bits & 0x7f800000) return value;
  const double magnitude = static_cast<double>(bits & 0x007fffff) * 0x1p-149;
  return bits >> 31 ? -magnitude : magnitude;
}

template <class F8>
std::int64_t narrow_bytes(const float* in, void* out, std::int64_t count) {
  constexpr std::uint32_t magnitude = LayoutOf<F8>::has_negative_zero ? 0x7f : 0xff;
  auto* to = static_cast<F8*>(out);
  std::int64_t flushed = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t result = small_bits<F8>(in[i]);
    to[i] = {static_cast<std::uint8_t>(result)};
    flushed += (result & magnitude) == 0 && is_nonzero(in[i]) ? 1 : 0;
  }
  return flushed;
}

// Keeps the upper half of the last byte if `count` is odd.
std::int64_t narrow_f4(const float* in, void* out, std::int64_t count) {
  auto* to = static_cast<std::uint8_t*>(out);
  std::int64_t flushed = 0;
  constexpr std::int64_t most = 512;
  std::array<std::uint8_t, most> codes;
  for (std::int64_t at = 0; at < count; at += most, to += most / 2) {
    const std::int64_t length = std::min(most, count - at);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::uint32_t code = small_bits<f4e2m1>(in[at + i]);
      flushed += (code & 7) == 0 && is_nonzero(in[at + i]) ? 1 : 0;
      codes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(code);
    }
    for (std::int64_t i = 0; i + 2 <= length; i += 2) {
      const auto pair = codes.data() + i;
      to[i / 2] = static_cast<std::uint8_t>(pair[0] | pair[1] << 4);
    }
    if (length % 2 == 0) continue;
    std::uint8_t& last = to[length / 2];
    last = static_cast<std::uint8_t>((last & 0xf0U) | codes[static_cast<std::size_t>(length - 1)]);
  }
  return flushed;
}

void narrow_powers(const float* in, void* out, std::int64_t count) {
  auto* to = static_cast<f8e8m0*>(out);
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = {static_cast<std::uint8_t>(small_bits<f8e8m0>(in[i]))};
}

// The byte of eight values: nearest, halves to even, saturated; NaN gives 0.
__m256i whole_bytes(const float* in, bool is_signed) {
  const __m256 x = _mm256_loadu_ps(in);
  const __m256 number = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
  const __m256 least = _mm256_set1_ps(is_signed ? -128.0F : 0.0F),
               most = _mm256_set1_ps(is_signed ? 127.0F : 255.0F);
  return _mm256_cvtps_epi32(_mm256_round_ps(_mm256_min_ps(_mm256_max_ps(number, least), most),
                                            _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

void narrow_whole_bytes(const float* in, DType to, void* out, std::int64_t count) {
  const bool is_signed = to == DType::i8;
  auto* const bytes = static_cast<std::byte*>(out);
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i pairs = _mm256_permute4x64_epi64(
        _mm256_packs_epi32(whole_bytes(in + i, is_signed), whole_bytes(in + i + 8, is_signed)),
        0xd8);
    const __m128i low = _mm256_castsi256_si128(pairs), high = _mm256_extracti128_si256(pairs, 1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + i),
                     is_signed ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high));
  }
  for (; i < count; ++i) store_element(to, out, i, exact_double(in[i]));
}

void widen_whole(DType from, const void* in, float* out, std::int64_t count) {
  switch (from) {
    case DType::i64:
      return widen_elements<std::int64_t>(in, out, count);
    case DType::i32:
      return widen_elements<std::int32_t>(in, out, count);
    case DType::i16:
      return widen_elements<std::int16_t>(in, out, count);
    case DType::i8:
      return widen_elements<std::int8_t>(in, out, count);
    case DType::u64:
      return widen_elements<std::uint64_t>(in, out, count);
    case DType::u32:
      return widen_elements<std::uint32_t>(in, out, count);
    case DType::u16:
      return widen_elements<std::uint16_t>(in, out, count);
    case DType::u8:
      return widen_elements<std::uint8_t>(in, out, count);
    case DType::boolean:
      return widen_booleans(in, out, count);
    default:  // packed
      for (std::int64_t i = 0; i < count; ++i)
        out[i] = static_cast<float>(load_element(from, in, i));
  }
}

}  // namespace

void widen_row(DType from, const void* in, float* out, std::int64_t count) {
  switch (from) {
    case DType::f64:
      return widen_doubles(in, out, count);
    case DType::f32:
      std::memcpy(out, in, static_cast<std::size_t>(count) * 4);
      return;
    case DType::f16:
      return conversions().widen_f16(static_cast<const std::uint16_t*>(in), out, count);
    case DType::bf16:
      return conversions().widen_bf16(static_cast<const std::uint16_t*>(in), out, count);
    case DType::f8e4m3fn:
      return widen_bytes<f8e4m3fn>(in, out, count);
    case DType::f8e5m2:
      return widen_bytes<f8e5m2>(in, out, count);
    case DType::f8e4m3fnuz:
      return widen_bytes<f8e4m3fnuz>(in, out, count);
    case DType::f8e5m2fnuz:
      return widen_bytes<f8e5m2fnuz>(in, out, count);
    case DType::f4e2m1:
      return widen_f4(in, out, count);
    case DType::f8e8m0:
      return widen_bytes<f8e8m0>(in, out, count);
    default:
      return widen_whole(from, in, out, count);
  }
}

void narrow_row(const float* in, DType to, void* out, std::int64_t count, std::int64_t* flushed) {
  std::int64_t zeros = 0;
  switch (to) {
    case DType::f32:
      std::memcpy(out, in, static_cast<std::size_t>(count) * 4);
      break;
    case DType::f16:
      zeros = conversions().narrow_f16(in, static_cast<std::uint16_t*>(out), count);
      break;
    case DType::bf16:
      zeros = conversions().narrow_bf16(in, static_cast<std::uint16_t*>(out), count);
      break;
    case DType::f8e4m3fn:
      zeros = narrow_bytes<f8e4m3fn>(in, out, count);
      break;
    case DType::f8e5m2:
      zeros = narrow_bytes<f8e5m2>(in, out, count);
      break;
    case DType::f8e4m3fnuz:
      zeros = narrow_bytes<f8e4m3fnuz>(in, out, count);
      break;
    case DType::f8e5m2fnuz:
      zeros = narrow_bytes<f8e5m2fnuz>(in, out, count);
      break;
    case DType::f4e2m1:
      zeros = narrow_f4(in, out, count);
      break;
    case DType::u8:
    case DType::i8:
      narrow_whole_bytes(in, to, out, count);
      break;
    case DType::f8e8m0:  // makes no zeros
      narrow_powers(in, out, count);
      break;
    default:
      for (std::int64_t i = 0; i < count; ++i) store_element(to, out, i, exact_double(in[i]));
      break;
  }
  if (flushed) *flushed += zeros;
}

}  // namespace narrowgauge::cpu
