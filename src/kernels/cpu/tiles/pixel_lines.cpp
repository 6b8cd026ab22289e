// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/pixel_lines.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/core/work.h"
#include "kernels/cpu/int8/int8_gemm.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t most_gathered_bytes = 1024;  // of x, from a line
constexpr std::int64_t most_window_bytes = 256;     // that are gathered from several lines

}  // namespace

PixelLines::PixelLines(DType dtype, const Dims& x, const Dims& w, const Dims& y,
                       const ConvolutionWindow& window)
    : split_(dtype == DType::f32),
      images_(x[0]),
      channels_(x[1]),
      element_bytes_(is_byte(dtype) ? 1 : 2),
      source_bytes_(x[1] * bits(dtype) / 8) {
  const std::size_t spatial = x.size() - 2;
  NG_INVARIANT(spatial == 1 || spatial == 2);
  for (std::size_t i = 0; i < spatial; ++i) {
    WindowAxis& axis = i + 1 == spatial ? x_ : y_;
    axis = {
        x[i + 2], y[i + 2], w[i + 2], window.strides[i], window.dilations[i], window.pads_begin[i]};
    flat_ = flat_ && axis.is_pointwise();
  }
  source_x_ = x_;
  source_y_ = y_;
  if (!weave()) gather();
  pixel_bytes_ = channels_ * element_bytes_;
  if (element_bytes_ > 1 || gathered_lines_ > 0)
    pixel_bytes_ = (split_ ? 2 : 1) * round_up(pixel_bytes_, tile_step_bytes);
  whole_ = !split_ && gathered_lines_ == 0 && woven_lines_ == 1 && pixel_bytes_ == source_bytes_;
  direct_ = flat_ && whole_;
  if (flat_) {  // one image that is one pixel wide
    y_.x = y_.y = images_ * y_.y * x_.y;
    x_.x = x_.y = images_ = 1;
    source_y_ = y_;
    source_x_ = x_;
  }
  places_ = ceil_divide((x_.y - 1) * x_.stride + x_.reach() + 1, x_.stride);
  line_bytes_ = places_ * row_bytes();
  for (std::int64_t tap = 0; tap < y_.kernel; ++tap) {
    const std::int64_t remainder = tap * y_.dilation % y_.stride;
    if (std::ranges::find(remainders_, remainder) == remainders_.end())
      remainders_.push_back(remainder);
  }
  list_depths();
}

// Makes lines of several, where that takes no more steps than to gather windows.
bool PixelLines::weave() {
  const std::int64_t seen = x_.kernel * channels_;
  const std::int64_t lines = std::min({tile_step_bytes / seen, y_.kernel, WovenLines::most});
  if (element_bytes_ > 1 || x_.dilation > 1 || y_.dilation > 1 || lines < 2) return false;
  const std::int64_t runs = ceil_divide(y_.kernel, lines);
  if (runs > ceil_divide(y_.kernel * seen, tile_step_bytes)) return false;
  constexpr std::int64_t bytes_of_line = 32;
  const std::int64_t pixel = lines * channels_;
  for (std::int64_t i = 0; i < tile_step_bytes / pixel * pixel; ++i)
    weave_order_[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(
        i % pixel / channels_ * bytes_of_line + i / pixel * channels_ + i % channels_);
  woven_lines_ = lines;
  channels_ = pixel;
  y_.kernel = runs;
  y_.dilation = lines;
  return true;
}

// Makes one pixel of those that a pixel of the output sees.
void PixelLines::gather() {
  source_y_ = {y_.x, y_.y};
  if (x_.kernel * y_.kernel == 1 || x_.dilation > 1 ||
      channels_ * element_bytes_ >= tile_step_bytes ||
      x_.kernel * source_bytes_ > most_gathered_bytes)
    return;
  gathered_lines_ = 1;
  channels_ *= x_.kernel;
  x_ = {x_.y, x_.y};
  if (y_.dilation > 1 || y_.kernel * channels_ * element_bytes_ > most_window_bytes) return;
  gathered_lines_ = y_.kernel;
  channels_ *= y_.kernel;
  source_y_ = y_;
  y_ = {y_.y, y_.y};
}

// Taps beside each other are one run, which ends with a whole step.
void PixelLines::list_depths() {
  const std::int64_t used = run_bytes() / element_bytes_;
  const std::int64_t run = round_up(run_bytes(), tile_step_bytes) / element_bytes_;
  const std::int64_t width = x_.kernel, channels = channels_ / woven_lines_;
  const auto depth = [&](std::int64_t tap, std::int64_t i) {
    const std::int64_t line = tap / width * woven_lines_ + i % channels_ / channels;
    const std::int64_t place = line * width + tap % width + i / channels_;
    return woven_lines_ > 1 && line >= source_y_.kernel ? -1 : place * channels + i % channels;
  };
  for (std::int64_t tap = 0; tap < taps(); tap += taps_in_run())
    for (std::int64_t i = 0; i < run; ++i)
      depth_at_.push_back(i < used ? static_cast<std::int32_t>(depth(tap, i)) : -1);
}

PixelParts::PixelParts(const PixelLines& lines, std::int64_t lines_in_part)
    : lines_(lines), in_part_(std::min(lines_in_part, lines.lines_in_image())) {
  const std::int64_t in_image = lines.lines_in_image();
  images_in_part_ = std::max<std::int64_t>(lines_in_part / in_image, 1);
  parts_in_image_ = ceil_divide(in_image, in_part_);
  parts_ = ceil_divide(lines.images_, images_in_part_) * parts_in_image_;
  list_steps();
  list_pixels();
  // A tile's last rows may reach beyond what is copied, and so does the end of a step.
  const std::int64_t slack = tile_pixels * lines.row_bytes() + tile_step_bytes;
  copy_bytes_ = round_up((lines.direct_ ? 0 : images_in_part_ * copied_image_bytes()) + slack, 64);
}

std::int64_t PixelParts::plane_lines() const {
  return in_part_ + lines_.y_.reach() / lines_.y_.stride;
}

std::int64_t PixelParts::copied_image_bytes() const {
  return std::ssize(lines_.remainders_) * plane_lines() * lines_.line_bytes_;
}

std::int64_t PixelParts::read_bytes() const {
  return lines_.direct_ ? in_part_ * lines_.row_bytes() : images_in_part_ * copied_image_bytes();
}

void PixelParts::list_steps() {
  const WindowAxis &y = lines_.y_, &x = lines_.x_;
  for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
    const std::int64_t shift = ky * y.dilation;
    const std::int64_t plane =
        std::ranges::find(lines_.remainders_, shift % y.stride) - lines_.remainders_.begin();
    const std::int64_t line = (plane * plane_lines() + shift / y.stride) * lines_.line_bytes_;
    for (std::int64_t kx = 0; kx < x.kernel; kx += lines_.taps_in_run())
      for (std::int64_t at = 0; at < lines_.run_bytes(); at += tile_step_bytes)
        step_at_.push_back(line + kx * x.dilation * lines_.pixel_bytes_ + at);
  }
}

void PixelParts::list_pixels() {
  const std::int64_t width = lines_.x_.y, places = lines_.places_;
  tiles_in_image_ = ceil_divide((in_part_ - 1) * places + width, tile_pixels);
  pixels_.assign(static_cast<std::size_t>(tiles_in_image_ * tile_pixels), -1);
  for (std::int64_t line = 0; line < in_part_; ++line)
    for (std::int64_t i = 0; i < width; ++i)
      pixels_[static_cast<std::size_t>(line * places + i)] =
          static_cast<std::int32_t>(line * width + i);
}

void PixelParts::copy_lines(const std::byte* image, std::int64_t first, std::int64_t count,
                            std::uint8_t zero, std::byte* to) const {
  if (lines_.flat_) {
    std::memset(to, 0, static_cast<std::size_t>(count * lines_.pixel_bytes_));
    copy_pixels(image + first * lines_.source_bytes_, lines_.source_bytes_, lines_.channels_, count,
                to);
    return;
  }
  const WindowAxis& y = lines_.y_;
  const std::int64_t line_bytes = lines_.line_bytes_;
  const std::int64_t source_line = lines_.source_x_.x * lines_.source_bytes_;
  for (const std::int64_t remainder : lines_.remainders_) {
    std::byte* line = to;
    for (std::int64_t i = 0; i < count + y.reach() / y.stride; ++i, line += line_bytes) {
      const std::int64_t from = (first + i) * y.stride + remainder - y.pad;
      if (lines_.woven_lines_ > 1)
        weave_line(image, from, zero, line);
      else if (from < 0 || from >= y.x)
        std::memset(line, zero, static_cast<std::size_t>(line_bytes));
      else if (lines_.gathered_lines_ > 0)
        gather_line(image, from, zero, line);
      else
        copy_line(image + from * source_line, zero, line);
    }
    to += plane_lines() * line_bytes;
  }
}

void PixelParts::copy_line(const std::byte* x, std::uint8_t zero, std::byte* to) const {
  const std::int64_t pixel = lines_.pixel_bytes_, pixels = lines_.line_bytes_ / pixel;
  const std::int64_t before = std::min(lines_.x_.pad, pixels);
  const std::int64_t inside = std::min(lines_.x_.x, pixels - before);
  std::memset(to, zero, static_cast<std::size_t>(lines_.line_bytes_));
  copy_pixels(x, lines_.source_bytes_, lines_.channels_, inside, to + before * pixel);
}

void PixelParts::weave_line(const std::byte* image, std::int64_t line, std::uint8_t zero,
                            std::byte* to) const {
  const WindowAxis& x = lines_.x_;
  const std::int64_t pixel = lines_.pixel_bytes_, pixels = lines_.line_bytes_ / pixel;
  const std::int64_t before = std::min(x.pad, pixels), inside = std::min(x.x, pixels - before);
  WovenLines woven{{},   lines_.woven_lines_,       lines_.source_bytes_, inside,
                   zero, lines_.weave_order_.data()};
  for (std::int64_t i = 0; i < woven.count; ++i)
    if (line + i >= 0 && line + i < lines_.y_.x)
      woven.lines[i] = image + (line + i) * x.x * lines_.source_bytes_;
  std::memset(to, zero, static_cast<std::size_t>(before * pixel));
  amx::weave_lines(woven, to + before * pixel);
  std::memset(to + (before + inside) * pixel, zero,
              static_cast<std::size_t>((pixels - before - inside) * pixel));
}

void PixelParts::gather_line(const std::byte* image, std::int64_t line, std::uint8_t zero,
                             std::byte* to) const {
  const WindowAxis &y = lines_.source_y_, &x = lines_.source_x_;
  const std::int64_t source_line = x.x * lines_.source_bytes_;
  const std::int64_t run = lines_.channels_ / lines_.gathered_lines_ * lines_.element_bytes_;
  std::memset(to, 0, static_cast<std::size_t>(lines_.line_bytes_));
  for (std::int64_t k = 0; k < lines_.gathered_lines_; ++k, to += run) {
    const std::int64_t from = line * y.stride + k - y.pad;
    if (from >= 0 && from < y.x) {
      gather_run(image + from * source_line, zero, to);
      continue;
    }
    if (zero == 0) continue;
    for (std::int64_t i = 0; i < lines_.places_; ++i)
      std::memset(to + i * lines_.pixel_bytes_, zero, static_cast<std::size_t>(run));
  }
}

void PixelParts::gather_run(const std::byte* x, std::uint8_t zero, std::byte* to) const {
  const WindowAxis& axis = lines_.source_x_;
  const std::int64_t source = lines_.source_bytes_, step = axis.stride * source;
  const std::int64_t channels = lines_.channels_ / lines_.gathered_lines_;
  const auto seen = [&](std::int64_t i) { return i * axis.stride - axis.pad; };
  std::int64_t i = 0;
  const auto at_border = [&](std::int64_t end) {
    for (; i < end; ++i) {
      std::array<std::byte, most_gathered_bytes> pixel;
      std::memset(pixel.data(), zero, static_cast<std::size_t>(axis.kernel * source));
      const std::int64_t begin = std::clamp<std::int64_t>(-seen(i), 0, axis.kernel);
      const std::int64_t last = std::clamp(axis.x - seen(i), begin, axis.kernel);
      std::memcpy(pixel.data() + begin * source, x + (seen(i) + begin) * source,
                  static_cast<std::size_t>((last - begin) * source));
      copy_pixels(pixel.data(), step, channels, 1, to + i * lines_.pixel_bytes_);
    }
  };
  const std::int64_t first = std::min(ceil_divide(axis.pad, axis.stride), lines_.places_);
  const std::int64_t left = axis.x - axis.kernel + axis.pad;
  const std::int64_t inside = left < 0 ? 0 : left / axis.stride + 1;
  at_border(first);
  const std::int64_t count = std::min(inside, lines_.places_) - first;
  if (count > 0) {
    copy_pixels(x + seen(first) * source, step, channels, count, to + first * lines_.pixel_bytes_);
    i += count;
  }
  at_border(lines_.places_);
}

void PixelParts::copy_pixels(const std::byte* x, std::int64_t step, std::int64_t channels,
                             std::int64_t count, std::byte* to) const {
  const std::int64_t to_step = lines_.pixel_bytes_;
  if (lines_.split_)
    amx::split_pixels(x, step, channels, count, to_step, to);
  else if (lines_.whole_)
    std::memcpy(to, x, static_cast<std::size_t>(count * step));
  else
    amx::copy_pixels(x, step, channels * lines_.element_bytes_, count, to_step, to);
}

void PixelParts::list_tile(const std::byte* a, std::int64_t index, const Pixels& of,
                           const PixelTiles& tiles, std::int64_t place) const {
  tiles.a[place] = a;
  const std::int32_t* const from = pixels_.data() + index * tile_pixels;
  for (std::int64_t i = 0; i < tile_pixels; ++i)
    tiles.pixels[place * tile_pixels + i] =
        from[i] >= 0 && from[i] < of.count ? static_cast<std::int32_t>(of.first) + from[i] : -1;
}

// The last tile of x is copied if it would be read beyond its end.
std::int64_t PixelParts::load_direct(const std::byte* x, std::int64_t part, std::byte* copies,
                                     const PixelTiles& tiles) const {
  const std::int64_t row = lines_.row_bytes(), begin = part * in_part_;
  const std::int64_t count = std::min(in_part_, lines_.lines() - begin);
  const std::int64_t listed = ceil_divide(count, tile_pixels);
  for (std::int64_t i = 0; i < listed; ++i)
    list_tile(x + (begin + i * tile_pixels) * row, i, {begin, count}, tiles, i);
  const std::int64_t last = begin + (listed - 1) * tile_pixels, left = lines_.lines() - last;
  if (left < tile_pixels || (left == tile_pixels && row % tile_step_bytes != 0)) {
    std::memcpy(copies, x + last * row, static_cast<std::size_t>(left * row));
    tiles.a[listed - 1] = copies;
  }
  return listed;
}

PixelParts::Pixels PixelParts::pixels(std::int64_t part) const {
  const std::int64_t in_image = lines_.lines_in_image(), width = lines_.x_.y;
  const std::int64_t image = part / parts_in_image_ * images_in_part_;
  const std::int64_t images = std::min(images_in_part_, lines_.images_ - image);
  const std::int64_t first = part % parts_in_image_ * in_part_;
  const std::int64_t lines = std::min(in_part_, in_image - first);
  return {(image * in_image + first) * width, images * lines * width};
}

std::int64_t PixelParts::load(const std::byte* x, std::int64_t part, std::uint8_t zero,
                              std::byte* copies, const PixelTiles& tiles) const {
  if (lines_.direct_) return load_direct(x, part, copies, tiles);
  const std::int64_t first_image = part / parts_in_image_ * images_in_part_;
  const std::int64_t images = std::min(images_in_part_, lines_.images_ - first_image);
  const std::int64_t first = part % parts_in_image_ * in_part_;
  const std::int64_t count = std::min(in_part_, lines_.lines_in_image() - first);
  const std::int64_t width = lines_.x_.y;
  const std::int64_t x_bytes = lines_.source_y_.x * lines_.source_x_.x * lines_.source_bytes_;
  const std::int64_t listed = ceil_divide((count - 1) * lines_.places_ + width, tile_pixels);
  for (std::int64_t image = 0; image < images; ++image) {
    std::byte* const a = copies + image * copied_image_bytes();
    copy_lines(x + (first_image + image) * x_bytes, first, count, zero, a);
    const std::int64_t pixel = ((first_image + image) * lines_.lines_in_image() + first) * width;
    for (std::int64_t i = 0; i < listed; ++i)
      list_tile(a + i * tile_pixels * lines_.row_bytes(), i, {pixel, count * width}, tiles,
                image * listed + i);
  }
  return images * listed;
}

}  // namespace narrowgauge::cpu
