// SPDX-License-Identifier: Apache-2.0
// A picture mixed with another one (Zhang et al., "mixup: beyond empirical risk minimization",
// 2018). The label is that of one of the two, with the chance of its share in the mixture: labels
// stay classes, and the expected loss is that of the mixed labels, in which it is linear.
#include "io/augment/augmentation.h"

namespace narrowgauge {
namespace {

class Mixup : public Augmentation {
 public:
  explicit Mixup(double alpha) : alpha_(alpha) {}

  void change(AugmentedImage& image, AugmentContext& context) const override {
    Draws& draws = context.draws;
    const double a = draws.gamma(alpha_), b = draws.gamma(alpha_);
    const double share = a + b > 0 ? a / (a + b) : 1;  // of the beta distribution
    const AugmentedImage other = context.other(draws.whole(context.samples));
    const auto kept = static_cast<float>(share);
    const std::span<float> pixels = image.pixels.values<float>();
    const std::span<const float> others = other.pixels.values<float>();
    for (std::size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = kept * pixels[i] + (1 - kept) * others[i];
    if (!draws.chance(share)) image.label = other.label;
  }
  bool takes_masks() const override { return false; }

 private:
  double alpha_;
};

std::unique_ptr<Augmentation> make_mixup(AugmentArguments& arguments) {
  constexpr double least = 1e-3, most = 100;
  return std::make_unique<Mixup>(arguments.number("alpha", 0.2, least, most));
}

}  // namespace
}  // namespace narrowgauge

NG_AUGMENT(mixup, "mixup", "(alpha=0.2)", "with another picture; the label is one of the two",
           make_mixup)
