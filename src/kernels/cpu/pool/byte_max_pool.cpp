// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pool/byte_max_pool.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "kernels/cpu/core/window_axis.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t task_bytes = 1 << 14;  // that are compared in a task
constexpr std::int64_t tasks_each = 8;        // thread
constexpr std::int64_t lanes = 32;
constexpr std::size_t most_taps = 64;  // that are compared at once

struct MaxPoolAxis : WindowAxis {
  std::int64_t x_step = 0, y_step = 0;  // from element to element
};

class ByteMaxPool {
 public:
  ByteMaxPool(const View& x, const View& y, const PoolWindow& window)
      : x_(x), y_(y), is_signed_(x.dtype == DType::i8) {
    const std::size_t spatial = x.dims.size() - 2;
    for (std::size_t i = 0; i < spatial; ++i)
      axes_[3 - spatial + i] = {{x.dims[i + 2], y.dims[i + 2], window.kernel[i], window.strides[i],
                                 window.dilations[i], window.pads_begin[i]},
                                x.strides[i + 2],
                                y.strides[i + 2]};
    together_ = x.strides[1] == 1 && y.strides[1] == 1;
    lines_together_ = together_ && axes_[2].x_step == x.dims[1];
  }

  void run(const Call& call) const {
    const auto& [z, y, x] = axes_;
    const std::int64_t lines = y_.dims[0] * z.y * y.y;
    const std::int64_t work =
        std::max<std::int64_t>(y_.dims[1] * x.y * z.kernel * y.kernel * x.kernel, 1);
    const std::int64_t threads = thread_count();
    const std::int64_t tasks =
        std::min({lines, ceil_divide(lines * work, task_bytes), tasks_each * threads});
    hand_out(tasks, threads, [&](std::int64_t task, std::int64_t) {
      std::vector<std::uint8_t> columns;
      if (lines_together_) columns.resize(static_cast<std::size_t>(x.x * x_.dims[1]));
      const Part part = part_of(lines, tasks, task);
      for (std::int64_t line = part.begin; line < part.end; ++line) one_line(call, line, columns);
    });
  }

 private:
  // `columns`: a line of x, if lines lie together.
  void one_line(const Call& call, std::int64_t line, std::span<std::uint8_t> columns) const {
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
    if (lines_together_) {
      largest_together(
          std::ssize(columns), std::ssize(lines),
          [&](std::int64_t i) { return lines[static_cast<std::size_t>(i)]; }, columns.data());
      for (std::int64_t i = 0; i < x.y; ++i, to += x.y_step) of_columns(columns.data(), i, to);
      return;
    }
    for (std::int64_t i = 0; i < x.y; ++i, to += x.y_step) one_pixel(lines, i, to);
  }

  // A pixel of y, of the largest in each column of the lines that it sees.
  void of_columns(const std::uint8_t* columns, std::int64_t at, std::uint8_t* to) const {
    const MaxPoolAxis& x = axes_[2];
    const std::int64_t channels = x_.dims[1], before = at * x.stride - x.pad;
    const std::int64_t first = before < 0 ? (-before + x.dilation - 1) / x.dilation : 0;
    const std::int64_t inside = (x.x - before + x.dilation - 1) / x.dilation;
    const std::uint8_t* const from = columns + (before + first * x.dilation) * channels;
    const std::int64_t step = x.dilation * channels;
    largest_together(
        channels, std::min(x.kernel, inside) - first,
        [=](std::int64_t i) { return from + i * step; }, to);
  }

  void one_pixel(std::span<const std::uint8_t* const> lines, std::int64_t at,
                 std::uint8_t* to) const {
    const MaxPoolAxis& x = axes_[2];
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
    if (together_)
      return largest_together(
          channels, std::ssize(taps),
          [&](std::int64_t i) { return taps[static_cast<std::size_t>(i)]; }, y);
    for (std::int64_t c = 0; c < channels; ++c) {
      std::uint8_t largest = flip;
      for (const std::uint8_t* const x : taps)
        if ((x[c * x_step] ^ flip) > (largest ^ flip)) largest = x[c * x_step];
      y[c * y_step] = largest;
    }
  }

  // The largest of `count` taps in each of so many bytes. tap(i) is where one begins.
  template <class Tap>
  void largest_together(std::int64_t bytes, std::int64_t count, const Tap& tap,
                        std::uint8_t* y) const {
    if (is_signed_)
      largest_of<true>(bytes, count, tap, y);
    else
      largest_of<false>(bytes, count, tap, y);
  }
  template <bool is_signed, int vectors, class Tap>
  static void largest_at(std::int64_t c, std::int64_t count, const Tap& tap, std::uint8_t* y) {
    __m256i largest[vectors];
#pragma GCC unroll 4
    for (__m256i& each : largest) each = _mm256_set1_epi8(static_cast<char>(is_signed ? 0x80 : 0));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto* const from = reinterpret_cast<const __m256i*>(tap(i) + c);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        const __m256i a = _mm256_loadu_si256(from + v);
        largest[v] = is_signed ? _mm256_max_epi8(a, largest[v]) : _mm256_max_epu8(a, largest[v]);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + c) + v, largest[v]);
  }
  template <bool is_signed, class Tap>
  static void largest_of(std::int64_t bytes, std::int64_t count, const Tap& tap, std::uint8_t* y) {
    constexpr std::uint8_t flip = is_signed ? 0x80 : 0;
    std::int64_t c = 0;
    for (; c + 4 * lanes <= bytes; c += 4 * lanes) largest_at<is_signed, 4>(c, count, tap, y);
    for (; c + 2 * lanes <= bytes; c += 2 * lanes) largest_at<is_signed, 2>(c, count, tap, y);
    for (; c + lanes <= bytes; c += lanes) largest_at<is_signed, 1>(c, count, tap, y);
    for (; c < bytes; ++c) {
      std::uint8_t largest = flip;
      for (std::int64_t i = 0; i < count; ++i)
        if ((tap(i)[c] ^ flip) > (largest ^ flip)) largest = tap(i)[c];
      y[c] = largest;
    }
  }

  View x_, y_;
  bool is_signed_;
  bool together_, lines_together_;  // channels, and the pixels of a line of x
  std::array<MaxPoolAxis, 3> axes_;
};

}  // namespace

Prepared prepare_byte_max_pool(const View& x, const View& y, const PoolWindow& window) {
  require(x.dims.size() == y.dims.size() && x.dims.size() >= 3 && x.dims.size() <= 5,
          "max pool of bytes: expected one to three spatial axes, got x ", x.dims, " and y ",
          y.dims);
  return {"bytes", 0, [pool = ByteMaxPool(x, y, window)](const Call& call) { pool.run(call); }};
}

}  // namespace narrowgauge::cpu
