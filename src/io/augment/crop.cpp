// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "io/augment/augmentation.h"
#include "io/pictures/pictures.h"

namespace narrowgauge {
namespace {

// [H, W, ...] with `channels` numbers a pixel, moved; what comes in is `fill`.
template <class T>
Tensor moved(const Tensor& pixels, std::int64_t channels, std::int64_t down, std::int64_t right,
             T fill) {
  const std::int64_t height = pixels.dims()[0], width = pixels.dims()[1];
  Tensor result(pixels.dtype(), pixels.dims());
  std::ranges::fill(result.values<T>(), fill);
  const T* const from = pixels.values<T>().data();
  T* const to = result.values<T>().data();
  const std::int64_t first = std::max<std::int64_t>(right, 0);
  const std::int64_t count = width - std::abs(right);
  for (std::int64_t y = 0; y < height && count > 0; ++y) {
    if (y - down < 0 || y - down >= height) continue;
    std::copy_n(from + ((y - down) * width + first - right) * channels, count * channels,
                to + (y * width + first) * channels);
  }
  return result;
}

class Crop : public Augmentation {
 public:
  explicit Crop(std::int64_t padding) : padding_(padding) {}
  void change(AugmentedImage& image, AugmentContext& context) const override {
    const std::int64_t down = context.draws.whole(2 * padding_ + 1) - padding_;
    const std::int64_t right = context.draws.whole(2 * padding_ + 1) - padding_;
    if (down == 0 && right == 0) return;
    image.pixels = moved<float>(image.pixels, image.pixels.dims()[2], down, right, 0);
    image.mask = moved<std::uint8_t>(image.mask, 1, down, right, unknown_pixel);
  }

 private:
  std::int64_t padding_;
};

std::unique_ptr<Augmentation> make_crop(AugmentArguments& arguments) {
  constexpr double most = 4096;
  return std::make_unique<Crop>(static_cast<std::int64_t>(arguments.number("padding", 4, 0, most)));
}

}  // namespace
}  // namespace narrowgauge

NG_AUGMENT(crop, "crop", "(padding=4)", "moves by up to so many pixels, black comes in", make_crop)
