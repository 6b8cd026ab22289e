// SPDX-License-Identifier: Apache-2.0
#include "models/losses/labels.h"

#include <algorithm>
#include <cmath>

#include "ops/loss/softmax_cross_entropy.h"

namespace narrowgauge {

void check(std::string_view loss, const LabelOptions& options) {
  require(options.smoothing >= 0 && options.smoothing <= 1, loss,
          ": expected smoothing from 0 to 1, got ", options.smoothing);
  for (const double weight : options.weights)
    require(weight >= 0 && std::isfinite(weight), loss,
            ": expected weights that are finite and not negative, got ", weight);
}

LabelOptions label_options(LossArguments& arguments) {
  LabelOptions options;
  options.smoothing = arguments.number("smoothing", 0);
  options.weights = arguments.numbers("weights");
  const double ignored = arguments.number("ignored", NAN);
  if (std::isnan(ignored)) return options;
  require(ignored == std::nearbyint(ignored) && std::abs(ignored) < 0x1p53,
          "loss: expected ignored to be a whole number, got ", ignored);
  options.ignored = static_cast<std::int64_t>(ignored);
  return options;
}

Value labels_of_classes(Network& network, std::string_view loss, Value prediction) {
  Shape shape = network.shape(prediction);
  require(shape.size() >= 2, loss, ": expected [N,classes,...], got ", shape);
  shape.erase(shape.begin() + 1);
  return network.input("labels", std::move(shape), DType::i64);
}

Value weights_of_classes(Network& network, std::string_view loss, Value prediction,
                         const LabelOptions& options) {
  if (options.weights.empty()) return absent;
  const Dim& classes = network.shape(prediction)[1];
  Tensor weights(DType::f32, {std::ssize(options.weights)});
  require(classes == Dim(weights.size()), loss, ": expected a weight for each of ", classes,
          " classes, got ", weights.size());
  for (std::int64_t i = 0; i < weights.size(); ++i)
    weights.set(i, options.weights[static_cast<std::size_t>(i)]);
  return network.graph().constant(std::move(weights));
}

std::int64_t ignored_label(const LabelOptions& options) {
  return options.ignored.value_or(no_ignored_label);
}

}  // namespace narrowgauge
