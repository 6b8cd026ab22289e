// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/block_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/indexed_vector.h"
#include "base/machine/floating_environment.h"
#include "base/threads/parallel.h"
#include "tensor/small_floats.h"
#include "tensor/values.h"

namespace narrowgauge {
namespace {

constexpr std::array<NamedBlockFormat, 6> named{{{"mxfp8_e4m3", mxfp8_e4m3},
                                                 {"mxfp8_e5m2", mxfp8_e5m2},
                                                 {"mxfp4", mxfp4},
                                                 {"nvfp4", nvfp4},
                                                 {"scaled_e4m3", scaled_e4m3},
                                                 {"scaled_e5m2", scaled_e5m2}}};

constexpr std::int64_t longest_piece = 1024;  // of elements that share a scale, at once
constexpr float least_scale = 0x1p-126F;      // normal, so that flushing leaves it alone
constexpr int least_power = -most_power;
constexpr std::uint32_t infinity = 0x7f80'0000;

// 2^exponent, for exponents of normal numbers.
float power_of_two(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

// The bits of the largest magnitude: at least `infinity` if a value is not finite.
std::uint32_t largest_magnitude(const float* x, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(x[i]) & 0x7fff'ffff);
  return largest;
}

std::uint32_t largest_finite_magnitude(const float* x, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x[i]) & 0x7fff'ffff;
    largest = std::max(largest, magnitude < infinity ? magnitude : 0);
  }
  return largest;
}

float finite_amax(const float* x, std::int64_t count) {
  constexpr std::int64_t piece = 1 << 16;
  IndexedVector<std::int64_t, std::uint32_t> parts((count + piece - 1) / piece);
  parallel_for(count, piece, [&](std::int64_t begin, std::int64_t end) {
    parts[begin / piece] = largest_finite_magnitude(x + begin, end - begin);
  });
  const auto largest = std::max_element(parts.begin(), parts.end());
  return largest == parts.end() ? 0.0F : std::bit_cast<float>(*largest);
}

int floor_log2(std::uint32_t magnitude) {  // not of 0
  const int field = static_cast<int>(magnitude >> 23);
  return field > 0 ? field - 127 : 31 - std::countl_zero(magnitude) - 149;
}

float largest_element(const BlockFormat& format) {
  return static_cast<float>(largest_finite(format.element));
}

// How values become elements: ((x first) second) / divisor. There are two factors because a power
// of two may be outside normal f32, and a division because x / scale is defined as one.
struct Scaling {
  float first = 1, second = 1, divisor = 1;
};

using Codes = std::array<std::uint8_t, longest_piece>;  // an element in each

template <class Narrow>
void encode(const float* x, std::int64_t count, const Scaling& by, std::uint8_t* codes) {
  constexpr float most = largest_small<Narrow>;
  for (std::int64_t i = 0; i < count; ++i) {
    const float scaled = x[i] * by.first * by.second / by.divisor;
    const float above = scaled < -most ? -most : scaled;
    const float kept = above > most ? most : above;
    const bool finite = (std::bit_cast<std::uint32_t>(x[i]) & infinity) != infinity;
    codes[i] = static_cast<std::uint8_t>(small_bits<Narrow>(finite ? kept : x[i]));
  }
}

void encode(DType element, const float* x, std::int64_t count, const Scaling& by,
            std::uint8_t* codes) {
  if (element == DType::f8e4m3fn) return encode<f8e4m3fn>(x, count, by, codes);
  if (element == DType::f8e5m2) return encode<f8e5m2>(x, count, by, codes);
  encode<f4e2m1>(x, count, by, codes);
}

void write_half(std::uint8_t* to, std::int64_t index, std::uint8_t code) {
  std::uint8_t& byte = to[index / 2];
  const int shift = index % 2 == 0 ? 0 : 4;
  byte = static_cast<std::uint8_t>((byte & (0xf0 >> shift)) | code << shift);
}

// Writes codes as elements from flat index `first` on.
void write_codes(DType element, const std::uint8_t* codes, std::int64_t count, std::int64_t first,
                 std::byte* elements) {
  auto* to = reinterpret_cast<std::uint8_t*>(elements);
  if (element != DType::f4e2m1) {
    std::copy_n(codes, count, to + first);
    return;
  }
  std::int64_t i = 0;
  if (first % 2 == 0) {
    for (; i + 2 <= count; i += 2)
      to[(first + i) / 2] = static_cast<std::uint8_t>(codes[i] | codes[i + 1] << 4);
  }
  for (; i < count; ++i) write_half(to, first + i, codes[i]);
}

void read_codes(DType element, const std::byte* elements, std::int64_t first, std::int64_t count,
                std::uint8_t* codes) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(elements);
  if (element != DType::f4e2m1) {
    std::copy_n(from + first, count, codes);
    return;
  }
  for (std::int64_t i = first; i < first + count; ++i)
    codes[i - first] = static_cast<std::uint8_t>(i % 2 == 0 ? from[i / 2] & 15 : from[i / 2] >> 4);
}

// A run of elements with one scale: a block, or a part of a row if there are no blocks.
struct Run {
  std::int64_t index, first, count;  // index of the scale; flat index of the first element
};

// Calls body(run) for all runs, in parallel unless two of them share a byte.
template <class Body>
void each_run(const BlockFormat& format, BlockRows rows, const Body& body) {
  const std::int64_t longest = format.block > 0 ? format.block : longest_piece;
  const std::int64_t in_row = (rows.length + longest - 1) / longest;
  const bool shared = format.element == DType::f4e2m1 && (rows.length % 2 != 0 || longest % 2 != 0);
  const std::int64_t count = rows.rows * in_row;
  const std::int64_t grain =
      shared ? std::max<std::int64_t>(count, 1) : std::max<std::int64_t>(1, (1 << 16) / longest);
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t at = i % in_row * longest;
      body(Run{i, i / in_row * rows.length + at, std::min(longest, rows.length - at)});
    }
  });
}

struct TensorScale {
  float encode = 1, decode = 1;
};

TensorScale tensor_scale_of(const BlockFormat& format, const float* x, std::int64_t count) {
  if (!format.tensor_scale) return {};
  const float amax = finite_amax(x, count), most = largest_element(format);
  if (amax == 0) return {};
  if (format.block == 0) return {1, std::max(amax / most, least_scale)};
  // The largest encode scale: its product with any block scale is normal.
  constexpr float largest_encode = 0x1p117F;
  const float encode = std::min(largest_small<f8e4m3fn> * most / amax, largest_encode);
  return {encode, 1 / encode};
}

// Chooses and stores the scale of a block whose amax is finite; false: its elements are zeros.
class BlockScales {
 public:
  BlockScales(const BlockFormat& format, const TensorScale& tensor, std::byte* scales)
      : format_(format), tensor_(tensor), most_(largest_element(format)), scales_(scales) {}

  bool choose(std::int64_t index, std::uint32_t amax, Scaling& by) const {
    if (format_.scale == DType::f8e8m0) return choose_power(index, amax, by);
    const float ratio = std::bit_cast<float>(amax) / most_;
    if (format_.scale == DType::f8e4m3fn) return choose_e4m3(index, ratio, by);
    by.divisor = amax == 0 ? 1.0F : std::max(ratio, least_scale);
    std::memcpy(scales_ + index * 4, &by.divisor, 4);
    return true;
  }
  void set_nan(std::int64_t index) const {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    if (format_.scale == DType::f32)
      std::memcpy(scales_ + index * 4, &nan, 4);
    else
      scales_[index] = format_.scale == DType::f8e8m0 ? std::byte{0xff} : std::byte{0x7f};
  }

 private:
  bool choose_power(std::int64_t index, std::uint32_t amax, Scaling& by) const {
    const int largest = floor_log2(std::bit_cast<std::uint32_t>(most_));
    const int power =
        amax == 0 ? least_power : std::clamp(floor_log2(amax) - largest, least_power, most_power);
    scales_[index] = static_cast<std::byte>(power - least_power);
    by.first = power_of_two(-power / 2);
    by.second = power_of_two(-power - -power / 2);
    return true;
  }
  bool choose_e4m3(std::int64_t index, float ratio, Scaling& by) const {
    const float wanted = std::min(ratio * tensor_.encode, largest_small<f8e4m3fn>);
    const f8e4m3fn scale{static_cast<std::uint8_t>(small_bits<f8e4m3fn>(wanted))};
    scales_[index] = static_cast<std::byte>(scale.bits);
    if (scale.bits == 0) return false;
    by.first = 1 / (widen(scale) * tensor_.decode);
    return true;
  }

  const BlockFormat& format_;
  TensorScale tensor_;
  float most_;
  std::byte* scales_;
};

void quantize_run(const BlockFormat& format, const float* x, const Run& run, const Scaling* by,
                  std::byte* elements) {
  Codes codes{};
  for (std::int64_t at = 0; at < run.count; at += longest_piece) {
    const std::int64_t count = std::min(longest_piece, run.count - at);
    if (by) encode(format.element, x + run.first + at, count, *by, codes.data());
    write_codes(format.element, codes.data(), count, run.first + at, elements);
  }
}

// The numbers of all codes; 4-bit codes use the first ones.
using Numbers = std::array<float, 256>;
template <class Narrow>
Numbers numbers_of(unsigned count) {
  Numbers numbers{};
  for (unsigned i = 0; i < count; ++i) numbers[i] = widen(Narrow{static_cast<std::uint8_t>(i)});
  return numbers;
}
const Numbers& numbers_of(DType element) {
  static const Numbers e4m3 = numbers_of<f8e4m3fn>(256), e5m2 = numbers_of<f8e5m2>(256),
                       e2m1 = numbers_of<f4e2m1>(16);
  if (element == DType::f4e2m1) return e2m1;
  return element == DType::f8e4m3fn ? e4m3 : e5m2;
}

Scaling decoding(const BlockFormat& format, const ConstBlockStorage& from, std::int64_t index) {
  if (format.block == 0) return {from.tensor_scale};
  if (format.scale == DType::f8e8m0) {
    const int bits = std::to_integer<int>(from.scales[index]), power = bits + least_power;
    if (bits == 0xff) return {std::numeric_limits<float>::quiet_NaN()};
    return {power_of_two(power / 2), power_of_two(power - power / 2)};
  }
  if (format.scale == DType::f8e4m3fn)
    return {widen(f8e4m3fn{std::to_integer<std::uint8_t>(from.scales[index])}), from.tensor_scale};
  Scaling by;
  std::memcpy(&by.first, from.scales + index * 4, 4);
  return by;
}

BlockRows rows_of(const BlockFormat& format, const Dims& dims) {
  require(!dims.empty(), "block format: expected a tensor of rank 1 or more of ", format.element);
  const std::int64_t length = dims.back();
  return {length == 0 ? 0 : element_count(dims) / length, length};
}

}  // namespace

std::span<const NamedBlockFormat> block_formats() { return named; }

void check(const BlockFormat& format) {
  const DType e = format.element;
  require(e == DType::f8e4m3fn || e == DType::f8e5m2 || e == DType::f4e2m1,
          "block format: expected elements of f8e4m3fn, f8e5m2 or f4e2m1, got ", e);
  require(format.block >= 0, "block format: expected a block of 0 or more, got ", format.block);
  const DType s = format.scale;
  require(s == DType::f8e8m0 || s == DType::f8e4m3fn || s == DType::f32,
          "block format: expected scales of f8e8m0, f8e4m3fn or f32, got ", s);
  const bool needs = format.block == 0 || s == DType::f8e4m3fn;
  require(format.tensor_scale == needs,
          "block format: expected a scale of the tensor for blocks of ",
          "f8e4m3fn scales and without blocks, and only there");
}

double bits_per_element(const BlockFormat& format) {
  const double scale = format.block > 0 ? 1.0 * bits(format.scale) / format.block : 0.0;
  return bits(format.element) + scale;
}

std::int64_t blocks_in_row(const BlockFormat& format, std::int64_t length) {
  return format.block > 0 ? (length + format.block - 1) / format.block : 0;
}

float quantize(const BlockFormat& format, const float* values, BlockRows rows,
               const BlockStorage& to) {
  check(format);
  const TensorScale tensor = tensor_scale_of(format, values, rows.rows * rows.length);
  const BlockScales scales(format, tensor, to.scales);
  each_run(format, rows, [&](const Run& run) {
    Scaling by{1, 1, tensor.decode};
    bool some = true;
    if (format.block > 0) {
      by.divisor = 1;
      const std::uint32_t amax = largest_magnitude(values + run.first, run.count);
      some = amax < infinity && scales.choose(run.index, amax, by);
      if (amax >= infinity) scales.set_nan(run.index);
    }
    quantize_run(format, values, run, some ? &by : nullptr, to.elements);
  });
  return tensor.decode;
}

void dequantize(const BlockFormat& format, const ConstBlockStorage& from, BlockRows rows,
                float* values) {
  check(format);
  const Numbers& numbers = numbers_of(format.element);
  each_run(format, rows, [&](const Run& run) {
    const Scaling by = decoding(format, from, run.index);
    Codes codes;
    for (std::int64_t at = 0; at < run.count; at += longest_piece) {
      const std::int64_t count = std::min(longest_piece, run.count - at);
      read_codes(format.element, from.elements, run.first + at, count, codes.data());
      float* const out = values + run.first + at;
      for (std::int64_t i = 0; i < count; ++i)
        out[i] = numbers[codes[static_cast<std::size_t>(i)]] * by.first * by.second;
    }
  });
}

BlockTensor quantize(const BlockFormat& format, const Tensor& values) {
  const FloatingEnvironment environment(Subnormals::keep);
  check(format);
  const BlockRows rows = rows_of(format, values.dims());
  Dims scale_dims = values.dims();
  scale_dims.back() = blocks_in_row(format, rows.length);
  BlockTensor result{format, Tensor(format.element, values.dims()),
                     Tensor(format.scale, std::move(scale_dims)), 1};
  result.tensor_scale = quantize(format, values.values<float>().data(), rows,
                                 {result.elements.data(), result.scales.data()});
  return result;
}

Tensor dequantize(const BlockTensor& tensor) {
  const FloatingEnvironment environment(Subnormals::keep);
  const Dims& dims = tensor.elements.dims();
  const BlockRows rows = rows_of(tensor.format, dims);
  Dims scale_dims = dims;
  scale_dims.back() = blocks_in_row(tensor.format, rows.length);
  require(tensor.elements.dtype() == tensor.format.element &&
              tensor.scales.dtype() == tensor.format.scale && tensor.scales.dims() == scale_dims,
          "block format: expected elements of ", tensor.format.element, " and scales of ",
          tensor.format.scale, scale_dims, ", got ", tensor.elements.type(), " and ",
          tensor.scales.type());
  Tensor values(DType::f32, dims);
  dequantize(tensor.format, {tensor.elements.data(), tensor.scales.data(), tensor.tensor_scale},
             rows, values.values<float>().data());
  return values;
}

}  // namespace narrowgauge
