// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "io/augment/augmentation.h"

namespace narrowgauge {
namespace {

// Mirrors the rows of pixels [H, W, ...] with `channels` numbers a pixel.
template <class T>
void mirror_rows(Tensor& pixels, std::int64_t channels) {
  const std::int64_t height = pixels.dims()[0], width = pixels.dims()[1];
  T* row = pixels.values<T>().data();
  for (std::int64_t y = 0; y < height; ++y, row += width * channels)
    for (std::int64_t left = 0, right = width - 1; left < right; ++left, --right)
      std::swap_ranges(row + left * channels, row + (left + 1) * channels, row + right * channels);
}

template <class T>
void turn_over(Tensor& pixels, std::int64_t channels) {
  const std::int64_t height = pixels.dims()[0], row = pixels.dims()[1] * channels;
  T* const first = pixels.values<T>().data();
  for (std::int64_t top = 0, bottom = height - 1; top < bottom; ++top, --bottom)
    std::swap_ranges(first + top * row, first + (top + 1) * row, first + bottom * row);
}

class Flip : public Augmentation {
 public:
  Flip(double across, double over) : across_(across), over_(over) {}
  void change(AugmentedImage& image, AugmentContext& context) const override {
    const std::int64_t channels = image.pixels.dims()[2];
    if (context.draws.chance(across_)) {
      mirror_rows<float>(image.pixels, channels);
      mirror_rows<std::uint8_t>(image.mask, 1);
    }
    if (context.draws.chance(over_)) {
      turn_over<float>(image.pixels, channels);
      turn_over<std::uint8_t>(image.mask, 1);
    }
  }

 private:
  double across_, over_;
};

std::unique_ptr<Augmentation> make_flip(AugmentArguments& arguments) {
  const double across = arguments.number("across", 0.5, 0, 1);
  return std::make_unique<Flip>(across, arguments.number("over", 0, 0, 1));
}

}  // namespace
}  // namespace narrowgauge

NG_AUGMENT(flip, "flip", "(across=0.5, over=0)", "left and right, top and bottom, with a chance",
           make_flip)
