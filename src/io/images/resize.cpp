// SPDX-License-Identifier: Apache-2.0
#include "io/images/resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

// The pixels that one of the result is made of.
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weights;
};

// `size` pixels out of those from `begin` to `end` of `count` (Pillow, Resample.c).
std::vector<Taps> taps_of(double begin, double end, std::int64_t count, std::int64_t size) {
  const double scale = (end - begin) / static_cast<double>(size);
  const double radius = std::max(scale, 1.0);
  std::vector<Taps> all;
  for (std::int64_t i = 0; i < size; ++i) {
    const double centre = begin + (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(std::llround(std::floor(centre - radius + 0.5)), 0);
    const auto last =
        std::min<std::int64_t>(std::llround(std::floor(centre + radius + 0.5)), count);
    Taps taps{first, {}};
    double sum = 0;
    for (std::int64_t x = first; x < last; ++x) {
      const double distance = std::abs(static_cast<double>(x) + 0.5 - centre) / radius;
      taps.weights.push_back(static_cast<float>(std::max(1 - distance, 0.0)));
      sum += std::max(1 - distance, 0.0);
    }
    for (float& weight : taps.weights) weight = static_cast<float>(weight / sum);
    all.push_back(std::move(taps));
  }
  return all;
}

// One row of the picture, between the rows of the file.
void mix_rows(const std::uint8_t* from, const Taps& taps, std::span<float> row) {
  std::ranges::fill(row, 0.0f);
  from += taps.first * std::ssize(row);
  for (const float weight : taps.weights)
    for (float& value : row) value += weight * static_cast<float>(*from++);
}

void resize_row(std::span<const float> row, std::int64_t channels, const std::vector<Taps>& taps,
                float* to) {
  for (const Taps& tap : taps)
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      const float* from = row.data() + tap.first * channels + channel;
      float sum = 0;
      for (const float weight : tap.weights) {
        sum += weight * *from;
        from += channels;
      }
      *to++ = sum;
    }
}

}  // namespace

ImageBox middle_box(std::int64_t image_height, std::int64_t image_width, std::int64_t height,
                    std::int64_t width) {
  const auto rows = static_cast<double>(image_height);
  const auto columns = static_cast<double>(image_width);
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
  const double scale = std::min(rows / h, columns / w);
  const double top = (rows - h * scale) / 2, left = (columns - w * scale) / 2;
  return {top, left, rows - top, columns - left};
}

Tensor resized_image(const Tensor& image, const ImageBox& box, std::int64_t height,
                     std::int64_t width) {
  require(height > 0 && width > 0, "a picture of ", width, " x ", height, " pixels is empty");
  const std::int64_t rows = image.dims()[0], columns = image.dims()[1], channels = image.dims()[2];
  const std::vector<Taps> across = taps_of(box.left, box.right, columns, width);
  Tensor result(DType::f32, {height, width, channels});
  float* to = result.values<float>().data();
  // Row by row: a narrow and tall picture would become a large one if all rows were widened first.
  std::vector<float> row(static_cast<std::size_t>(columns * channels));
  for (const Taps& down : taps_of(box.top, box.bottom, rows, height)) {
    mix_rows(image.values<std::uint8_t>().data(), down, row);
    resize_row(row, channels, across, to);
    to += width * channels;
  }
  return result;
}

}  // namespace narrowgauge
