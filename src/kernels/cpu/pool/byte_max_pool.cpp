// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pool/byte_max_pool.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/parallel.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t grain = 1 << 14;  // bytes that are compared in a piece
constexpr std::int64_t lanes = 32;
constexpr std::size_t most_taps = 64;  // that are compared at once

struct Axis {
  std::int64_t x = 1, y = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  std::int64_t x_step = 0, y_step = 0;  // from element to element
  // Where a tap lies in x; -1: in the pads.
  std::int64_t place(std::int64_t at, std::int64_t tap) const {
    const std::int64_t place = at * stride - pad + tap * dilation;
    return place >= 0 && place < x ? place : -1;
  }
};

class ByteMaxPool {
 public:
  ByteMaxPool(const View& x, const View& y, const PoolWindow& window)
      : x_(x), y_(y), is_signed_(x.dtype == DType::i8) {
    const std::size_t spatial = x.dims.size() - 2;
    for (std::size_t i = 0; i < spatial; ++i)
      axes_[3 - spatial + i] = {x.dims[i + 2],     y.dims[i + 2],       window.kernel[i],
                                window.strides[i], window.dilations[i], window.pads_begin[i],
                                x.strides[i + 2],  y.strides[i + 2]};
  }

  void run(const Call& call) const {
    const auto& [z, y, x] = axes_;
    const std::int64_t lines = y_.dims[0] * z.y * y.y;
    const std::int64_t work =
        std::max<std::int64_t>(y_.dims[1] * x.y * z.kernel * y.kernel * x.kernel, 1);
    parallel_for(lines, std::max<std::int64_t>(grain / work, 1),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t line = begin; line < end; ++line) one_line(call, line);
                 });
  }

 private:
  void one_line(const Call& call, std::int64_t line) const {
    const auto& [z, y, x] = axes_;
    const std::int64_t at_y = line % y.y, at_z = line / y.y % z.y, image = line / (y.y * z.y);
    const auto* const from =
        static_cast<const std::uint8_t*>(call.inputs[0]) + image * x_.strides[0];
    std::uint8_t* to = static_cast<std::uint8_t*>(call.outputs[0]) + image * y_.strides[0] +
                       at_z * z.y_step + at_y * y.y_step;
    std::vector<const std::uint8_t*> lines;  // of x that the window sees
    for (std::int64_t kz = 0; kz < z.kernel; ++kz)
      for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
        const std::int64_t in_z = z.place(at_z, kz), in_y = y.place(at_y, ky);
        if (in_z >= 0 && in_y >= 0) lines.push_back(from + in_z * z.x_step + in_y * y.x_step);
      }
    for (std::int64_t i = 0; i < x.y; ++i, to += x.y_step) one_pixel(lines, i, to);
  }

  void one_pixel(std::span<const std::uint8_t* const> lines, std::int64_t at,
                 std::uint8_t* to) const {
    const Axis& x = axes_[2];
    std::array<const std::uint8_t*, most_taps> taps;
    std::size_t count = 0;
    for (const std::uint8_t* const line : lines)
      for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
        const std::int64_t in_x = x.place(at, kx);
        if (in_x < 0) continue;
        if (count == taps.size()) {  // what was found goes on as one of them
          store_largest(taps, to);
          taps[0] = to;
          count = 1;
        }
        taps[count++] = line + in_x * x.x_step;
      }
    store_largest(std::span(taps).first(count), to);
  }

  void store_largest(std::span<const std::uint8_t* const> taps, std::uint8_t* y) const {
    const std::int64_t channels = y_.dims[1], x_step = x_.strides[1], y_step = y_.strides[1];
    // Signed bytes are ordered as unsigned ones with the first bit flipped.
    const std::uint8_t flip = is_signed_ ? 0x80 : 0;
    std::int64_t c = 0;
    if (x_step == 1 && y_step == 1) c = store_whole(taps, y);
    for (; c < channels; ++c) {
      std::uint8_t largest = flip;
      for (const std::uint8_t* const x : taps)
        if ((x[c * x_step] ^ flip) > (largest ^ flip)) largest = x[c * x_step];
      y[c * y_step] = largest;
    }
  }

  // Channels in whole vectors; returns how many these are.
  std::int64_t store_whole(std::span<const std::uint8_t* const> taps, std::uint8_t* y) const {
    const std::int64_t whole = y_.dims[1] / lanes * lanes;
    for (std::int64_t c = 0; c < whole; c += lanes) {
      __m256i largest = _mm256_set1_epi8(static_cast<char>(is_signed_ ? 0x80 : 0));
      for (const std::uint8_t* const x : taps) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + c));
        largest = is_signed_ ? _mm256_max_epi8(a, largest) : _mm256_max_epu8(a, largest);
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + c), largest);
    }
    return whole;
  }

  View x_, y_;
  bool is_signed_;
  std::array<Axis, 3> axes_;
};

}  // namespace

Prepared prepare_byte_max_pool(const View& x, const View& y, const PoolWindow& window) {
  require(x.dims.size() == y.dims.size() && x.dims.size() >= 3 && x.dims.size() <= 5,
          "max pool of bytes: expected one to three spatial axes, got x ", x.dims, " and y ",
          y.dims);
  return {"bytes", 0, [pool = ByteMaxPool(x, y, window)](const Call& call) { pool.run(call); }};
}

}  // namespace narrowgauge::cpu
