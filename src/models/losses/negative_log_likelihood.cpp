// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/negative_log_likelihood.h"

#include "models/losses/labels.h"
#include "models/losses/table.h"

namespace narrowgauge {

Loss negative_log_likelihood(LabelOptions options) {
  constexpr std::string_view name = "negative_log_likelihood";
  check(name, options);
  require(options.smoothing == 0, name, ": expected no smoothing, got ", options.smoothing);
  return [=](Network& network, Value logarithms) {
    const Value labels = labels_of_classes(network, name, logarithms);
    const Value weights = weights_of_classes(network, name, logarithms, options);
    return network.apply(NegativeLogLikelihoodLoss{.ignore_index = ignored_label(options)},
                         {logarithms, labels, weights}, "loss");
  };
}

namespace {
Loss make_negative_log_likelihood(LossArguments& arguments) {
  return negative_log_likelihood(label_options(arguments));
}
}  // namespace

}  // namespace narrowgauge

NG_LOSS(negative_log_likelihood, "negative_log_likelihood", "of log probabilities of classes (NLL)",
        make_negative_log_likelihood)
