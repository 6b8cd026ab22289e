// SPDX-License-Identifier: Apache-2.0
#include "io/images/resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
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

// [rows, count, C] becomes [rows, taps, C].
template <class T>
void resize_rows(std::span<const T> from, std::int64_t count, std::int64_t channels,
                 const std::vector<Taps>& taps, float* to) {
  const std::int64_t rows = std::ssize(from) / (count * channels);
  for (std::int64_t row = 0; row < rows; ++row)
    for (const Taps& tap : taps)
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const T* pixel = from.data() + (row * count + tap.first) * channels + channel;
        float sum = 0;
        for (const float weight : tap.weights) {
          sum += weight * static_cast<float>(*pixel);
          pixel += channels;
        }
        *to++ = sum;
      }
}

}  // namespace

ImageBox middle_box(std::int64_t image_height, std::int64_t image_width, std::int64_t height,
                    std::int64_t width) {
  const auto image_h = static_cast<double>(image_height),
             image_w = static_cast<double>(image_width);
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
  const double scale = std::min(image_h / h, image_w / w);
  const double top = (image_h - h * scale) / 2, left = (image_w - w * scale) / 2;
  return {top, left, image_h - top, image_w - left};
}

Tensor resized_image(const Tensor& image, const ImageBox& box, std::int64_t height,
                     std::int64_t width) {
  require(height > 0 && width > 0, "a picture of ", width, " x ", height, " pixels is empty");
  const std::int64_t rows = image.dims()[0], columns = image.dims()[1], channels = image.dims()[2];
  Tensor narrow(DType::f32, {rows, width, channels}), result(DType::f32, {height, width, channels});
  resize_rows(image.values<std::uint8_t>(), columns, channels,
              taps_of(box.left, box.right, columns, width), narrow.values<float>().data());
  // A column of rows is one pixel of many channels.
  resize_rows(std::span<const float>(narrow.values<float>()), rows, width * channels,
              taps_of(box.top, box.bottom, rows, height), result.values<float>().data());
  return result;
}

}  // namespace narrowgauge
