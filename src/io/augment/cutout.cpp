// SPDX-License-Identifier: Apache-2.0
// A square that the network does not see (DeVries, Taylor, "Improved regularization of
// convolutional neural networks with cutout", 2017).
#include <algorithm>

#include "io/augment/augmentation.h"

namespace narrowgauge {
namespace {

class Cutout : public Augmentation {
 public:
  explicit Cutout(std::int64_t side) : side_(side) {}

  // The centre lies anywhere in the picture, so that the square may be cut by its edge.
  void change(AugmentedImage& image, AugmentContext& context) const override {
    const Dims& dims = image.pixels.dims();
    const std::int64_t top = context.draws.whole(dims[0]) - side_ / 2;
    const std::int64_t left = context.draws.whole(dims[1]) - side_ / 2;
    float* const pixels = image.pixels.values<float>().data();
    for (std::int64_t y = std::max<std::int64_t>(top, 0); y < std::min(top + side_, dims[0]); ++y)
      for (std::int64_t x = std::max<std::int64_t>(left, 0); x < std::min(left + side_, dims[1]);
           ++x)
        std::ranges::copy(context.mean, pixels + (y * dims[1] + x) * dims[2]);
  }

 private:
  std::int64_t side_;
};

std::unique_ptr<Augmentation> make_cutout(AugmentArguments& arguments) {
  constexpr double most = 4096;
  return std::make_unique<Cutout>(static_cast<std::int64_t>(arguments.number("side", 16, 1, most)));
}

}  // namespace
}  // namespace narrowgauge

NG_AUGMENT(cutout, "cutout", "(side=16)", "a square of the mean", make_cutout)
