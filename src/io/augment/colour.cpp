// SPDX-License-Identifier: Apache-2.0
// Brightness, contrast and saturation, in random order, as torchvision's ColorJitter mixes them.
#include <algorithm>
#include <array>

#include "io/augment/augmentation.h"

namespace narrowgauge {
namespace {

// ITU-R BT.601.
float luma(const float* pixel, std::int64_t channels) {
  return channels == 3 ? 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2] : pixel[0];
}

// Each value becomes factor * value + (1 - factor) * towards, within the range of pixels.
void mix(float& value, float towards, float factor) {
  value = std::clamp(factor * value + (1 - factor) * towards, 0.0f, 255.0f);
}

void brighten(Tensor& pixels, float factor) {
  for (float& value : pixels.values<float>()) mix(value, 0, factor);
}

void contrast(Tensor& pixels, float factor) {
  const std::int64_t channels = pixels.dims()[2], count = pixels.size() / channels;
  const float* const values = pixels.values<float>().data();
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += luma(values + i * channels, channels);
  const auto mean = static_cast<float>(sum / static_cast<double>(count));
  for (float& value : pixels.values<float>()) mix(value, mean, factor);
}

void saturate(Tensor& pixels, float factor) {
  const std::int64_t channels = pixels.dims()[2];
  if (channels != 3) return;
  const std::span<float> values = pixels.values<float>();
  for (std::size_t i = 0; i < values.size(); i += 3) {
    const float grey = luma(&values[i], channels);
    for (std::size_t k = 0; k < 3; ++k) mix(values[i + k], grey, factor);
  }
}

class Colour : public Augmentation {
 public:
  explicit Colour(double strength) : strength_(strength) {}

  void change(AugmentedImage& image, AugmentContext& context) const override {
    std::array<void (*)(Tensor&, float), 3> steps{brighten, contrast, saturate};
    for (std::size_t i = steps.size(); i > 0; --i) {
      const std::int64_t chosen = context.draws.whole(static_cast<std::int64_t>(i));
      std::swap(steps[i - 1], steps[static_cast<std::size_t>(chosen)]);
      const double factor = context.draws.uniform(std::max(1 - strength_, 0.0), 1 + strength_);
      steps[i - 1](image.pixels, static_cast<float>(factor));
    }
  }

 private:
  double strength_;
};

std::unique_ptr<Augmentation> make_colour(AugmentArguments& arguments) {
  return std::make_unique<Colour>(arguments.number("strength", 0.4, 0, 10));
}

}  // namespace
}  // namespace narrowgauge

NG_AUGMENT(colour, "colour", "(strength=0.4)", "brightness, contrast and saturation", make_colour)
