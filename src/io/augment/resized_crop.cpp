// SPDX-License-Identifier: Apache-2.0
// A part of random size and shape, as torchvision's RandomResizedCrop chooses it (Szegedy et al.,
// "Going deeper with convolutions", 2015).
#include <algorithm>
#include <cmath>

#include "io/augment/augmentation.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

constexpr double least_ratio = 3.0 / 4, most_ratio = 4.0 / 3;  // width over height
constexpr int most_tries = 10;

class ResizedCrop : public Augmentation {
 public:
  ResizedCrop(double least, double most) : least_(least), most_(most) {}

  std::optional<ImageBox> cut(ImageSize size, Draws& draws) const override {
    const auto rows = static_cast<double>(size.height), columns = static_cast<double>(size.width);
    for (int i = 0; i < most_tries; ++i) {
      const double area = rows * columns * draws.uniform(least_, most_);
      const double ratio = std::exp(draws.uniform(std::log(least_ratio), std::log(most_ratio)));
      const double width = std::round(std::sqrt(area * ratio));
      const double height = std::round(std::sqrt(area / ratio));
      if (width < 1 || height < 1 || width > columns || height > rows) continue;
      const auto top = static_cast<double>(draws.whole(size.height - std::llround(height) + 1));
      const auto left = static_cast<double>(draws.whole(size.width - std::llround(width) + 1));
      return ImageBox{top, left, top + height, left + width};
    }
    return middle(rows, columns);
  }

 private:
  // The largest part in the middle whose shape is allowed.
  static ImageBox middle(double rows, double columns) {
    const double width = std::max(std::min(columns, std::round(rows * most_ratio)), 1.0);
    const double height = std::max(std::min(rows, std::round(columns / least_ratio)), 1.0);
    const double top = std::floor((rows - height) / 2), left = std::floor((columns - width) / 2);
    return {top, left, top + height, left + width};
  }

  double least_, most_;
};

std::unique_ptr<Augmentation> make_resized_crop(AugmentArguments& arguments) {
  constexpr double smallest = 1e-4;
  const double least = arguments.number("least", 0.08, smallest, 1);
  const double most = arguments.number("most", 1, smallest, 1);
  require(least <= most, "augment: resized_crop: expected least up to most, got ", least, " and ",
          most);
  return std::make_unique<ResizedCrop>(least, most);
}

}  // namespace
}  // namespace narrowgauge

NG_AUGMENT(resized_crop, "resized_crop", "(least=0.08, most=1)",
           "a part with such a share of the area", make_resized_crop)
