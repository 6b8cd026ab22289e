// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "io/augment/augmentation.h"
#include "io/pictures/pictures.h"

namespace narrowgauge {
namespace {

// Reads between pixels, bilinearly; outside of the picture stands the mean.
class Sampler {
 public:
  Sampler(const Tensor& pixels, std::span<const float> mean)
      : height_(pixels.dims()[0]),
        width_(pixels.dims()[1]),
        channels_(pixels.dims()[2]),
        pixels_(pixels.values<float>().data()),
        mean_(mean) {}

  void at(double y, double x, float* to) const {
    const double row = std::floor(y), column = std::floor(x);
    const auto down = static_cast<float>(y - row), right = static_cast<float>(x - column);
    const auto r = static_cast<std::int64_t>(row), c = static_cast<std::int64_t>(column);
    for (std::int64_t k = 0; k < channels_; ++k) {
      const float top = (1 - right) * pixel(r, c, k) + right * pixel(r, c + 1, k);
      const float bottom = (1 - right) * pixel(r + 1, c, k) + right * pixel(r + 1, c + 1, k);
      to[k] = (1 - down) * top + down * bottom;
    }
  }

 private:
  float pixel(std::int64_t row, std::int64_t column, std::int64_t channel) const {
    if (row < 0 || row >= height_ || column < 0 || column >= width_)
      return mean_[static_cast<std::size_t>(channel)];
    return pixels_[(row * width_ + column) * channels_ + channel];
  }

  std::int64_t height_, width_, channels_;
  const float* pixels_;
  std::span<const float> mean_;
};

class Rotate : public Augmentation {
 public:
  explicit Rotate(double degrees) : degrees_(degrees) {}

  void change(AugmentedImage& image, AugmentContext& context) const override {
    const double angle = context.draws.uniform(-degrees_, degrees_) * std::numbers::pi / 180;
    const Tensor from = image.pixels, classes = image.mask;
    image.pixels = Tensor(DType::f32, from.dims());
    image.mask = Tensor(DType::u8, classes.dims());
    const Sampler sampler(from, context.mean);
    float* to = image.pixels.values<float>().data();
    each_pixel(from, angle, [&](double y, double x) {
      sampler.at(y, x, to);
      to += from.dims()[2];
    });
    if (!image.has_mask()) return;
    std::uint8_t* label = image.mask.values<std::uint8_t>().data();
    each_pixel(from, angle, [&](double y, double x) { *label++ = nearest(classes, y, x); });
  }

 private:
  // Calls visit(y, x) with the place in the picture that each pixel of the result shows.
  template <class Visit>
  static void each_pixel(const Tensor& picture, double angle, const Visit& visit) {
    const std::int64_t height = picture.dims()[0], width = picture.dims()[1];
    const double cosine = std::cos(angle), sine = std::sin(angle);
    const double middle_y = static_cast<double>(height - 1) / 2;
    const double middle_x = static_cast<double>(width - 1) / 2;
    for (std::int64_t row = 0; row < height; ++row)
      for (std::int64_t column = 0; column < width; ++column) {
        const double y = static_cast<double>(row) - middle_y;
        const double x = static_cast<double>(column) - middle_x;
        visit(middle_y + cosine * y - sine * x, middle_x + sine * y + cosine * x);
      }
  }

  static std::uint8_t nearest(const Tensor& classes, double y, double x) {
    const std::int64_t row = std::llround(y), column = std::llround(x), width = classes.dims()[1];
    const bool inside = row >= 0 && row < classes.dims()[0] && column >= 0 && column < width;
    if (!inside) return unknown_pixel;
    return classes.values<std::uint8_t>()[static_cast<std::size_t>(row * width + column)];
  }

  double degrees_;
};

std::unique_ptr<Augmentation> make_rotate(AugmentArguments& arguments) {
  return std::make_unique<Rotate>(arguments.number("degrees", 15, 0, 180));
}

}  // namespace
}  // namespace narrowgauge

NG_AUGMENT(rotate, "rotate", "(degrees=15)", "by up to so many, the mean comes in", make_rotate)
