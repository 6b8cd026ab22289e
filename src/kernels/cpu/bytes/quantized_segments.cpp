// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_segments.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/bytes/quantized_rows.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {

QuantizedSegments::QuantizedSegments(const View& x, const Dims& w, const Dims& y,
                                     const ConvolutionWindow& window)
    : channels_(x.dims[1]), is_signed_(x.dtype == DType::i8) {
  const std::size_t spatial = x.dims.size() - 2;
  NG_INVARIANT(spatial == 1 || spatial == 2);
  for (std::size_t i = 0; i < spatial; ++i) {
    WindowAxis& axis = i + 1 == spatial ? x_ : y_;
    axis = {x.dims[i + 2],       y[i + 2], w[i + 2], window.strides[i], window.dilations[i],
            window.pads_begin[i]};
    flat_ = flat_ && axis.is_pointwise();
  }
  direct_ = !is_signed_ && run_bytes() % 4 == 0 && y_.inside() && x_.inside();
  if (flat_) {
    cut_flat(y[0] * y_.y * x_.y);
  } else {
    lines_ = y[0] * y_.y;
    pixels_in_line_ = x_.y;
    segments_in_line_ = ceil_divide(x_.y, segment_pixels);
    lines_in_grain_ = 1 + segments_in_line_ % 2;
    lengths_.fill(ceil_divide(x_.y, segments_in_line_));
  }
  line_bytes_ = (direct_ ? x_.x : x_.seen(x_.y)) * channels_;
  for (std::int64_t ky = 0; ky < y_.kernel; ++ky)
    for (std::int64_t kx = 0; kx < x_.kernel; kx += taps_in_run())
      run_at_.push_back(ky * y_.dilation * line_bytes_ + kx * x_.dilation * channels_);
}

void QuantizedSegments::cut_flat(std::int64_t pixels) {
  x_.x = x_.y = pixels;
  y_.x = y_.y = 1;
  lines_ = ceil_divide(pixels, 2 * segment_pixels);
  pixels_in_line_ = ceil_divide(pixels, lines_);
  lengths_[0] = std::min(pixels_in_line_, segment_pixels);
  lengths_[1] = pixels_in_line_ - lengths_[0];
  segments_in_line_ = lengths_[1] > 0 ? 2 : 1;
  lines_in_grain_ = 1;
}

std::int64_t QuantizedSegments::copy_bytes(std::int64_t grains) const {
  if (direct_) return 0;
  constexpr std::int64_t slack = 4;  // a run is read in fours
  const std::int64_t count = std::min(grains * lines_in_grain_, lines_);
  if (flat_) return round_up(count * pixels_in_line_ * channels_ + slack, 64);
  // Each image has the lines between which its last line of y sees.
  const std::int64_t images = (count + y_.y - 2) / y_.y + 1;
  return round_up((count * y_.stride + images * y_.reach() + images) * line_bytes_ + slack, 64);
}

std::int64_t QuantizedSegments::list_flat(const std::byte* x, std::int64_t begin, std::int64_t end,
                                          std::byte* copies, PixelSegment* segments) const {
  const auto first_of = [&](std::int64_t line) {
    return std::min(line * pixels_in_line_, x_.x - pixels_in_line_);
  };
  const std::int64_t first = first_of(begin);
  const std::byte* from = x + first * channels_;
  if (!direct_) {
    copy(from, (first_of(end - 1) + pixels_in_line_ - first) * channels_, copies);
    from = copies;
  }
  for (std::int64_t line = begin; line < end; ++line) {
    std::int64_t skipped = line * pixels_in_line_ - first_of(line);
    std::int64_t pixel = first_of(line);
    for (std::int64_t i = 0; i < segments_in_line_; ++i) {
      const std::int64_t length = lengths_[static_cast<std::size_t>(i)];
      const std::int64_t left_out = std::min(skipped, length);
      *segments++ = {from + (pixel - first) * channels_, pixel + left_out, left_out};
      skipped -= left_out;
      pixel += length;
    }
  }
  return (end - begin) * segments_in_line_;
}

std::int64_t QuantizedSegments::list(const std::byte* x, std::int64_t begin, std::int64_t end,
                                     std::uint8_t zero, std::byte* copies,
                                     PixelSegment* segments) const {
  std::int64_t line = begin * lines_in_grain_;
  const std::int64_t last = std::min(end * lines_in_grain_, lines_);
  if (flat_) return list_flat(x, line, last, copies, segments);
  const PixelSegment* const first_segment = segments;
  while (line < last) {  // image by image
    const std::int64_t first = line % y_.y, count = std::min(last - line, y_.y - first);
    const std::byte* from = x + line / y_.y * y_.x * x_.x * channels_;
    if (direct_) {
      from += first * y_.stride * line_bytes_;
    } else {
      copy_lines(from, first, count, zero, copies);
      from = copies;
      copies += y_.seen(count) * line_bytes_;
    }
    for (std::int64_t i = 0; i < count; ++i, ++line, from += y_.stride * line_bytes_)
      for (std::int64_t at = 0; at < x_.y; at += lengths_[0]) {
        const std::int64_t pixel = std::min(at, x_.y - lengths_[0]);
        *segments++ = {from + pixel * pixel_bytes(), line * x_.y + at, at - pixel};
      }
  }
  return segments - first_segment;
}

void QuantizedSegments::copy_lines(const std::byte* image, std::int64_t first, std::int64_t count,
                                   std::uint8_t zero, std::byte* to) const {
  const auto pad = [&](std::int64_t pixels) {
    std::memset(to, zero, static_cast<std::size_t>(pixels * channels_));
    to += pixels * channels_;
  };
  const std::int64_t places = line_bytes_ / channels_;
  const std::int64_t before = std::min(x_.pad, places), inside = std::min(x_.x, places - before);
  for (std::int64_t i = 0; i < y_.seen(count); ++i) {
    const std::int64_t line = first * y_.stride - y_.pad + i;
    if (line < 0 || line >= y_.x) {
      pad(places);
      continue;
    }
    pad(before);
    copy(image + line * x_.x * channels_, inside * channels_, to);
    to += inside * channels_;
    pad(places - before - inside);
  }
}

void QuantizedSegments::copy(const std::byte* x, std::int64_t bytes, std::byte* to) const {
  store_narrow(x, bytes, {is_signed_, 0}, to, nullptr);
}

}  // namespace narrowgauge::cpu
