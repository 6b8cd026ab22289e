// SPDX-License-Identifier: Apache-2.0
// What losses of labels of classes have in common.
#pragma once

#include "models/losses/arguments.h"
#include "narrowgauge/losses.h"
#include "narrowgauge/network.h"

namespace narrowgauge {

// Throws UsageError, beginning with `loss`, for options that make no sense.
void check(std::string_view loss, const LabelOptions& options);

// smoothing, weights and ignored.
LabelOptions label_options(LossArguments& arguments);

// The input "labels" i64 [N, ...] for a prediction [N, classes, ...].
Value labels_of_classes(Network& network, std::string_view loss, Value prediction);

// Constant f32 [classes]; absent if all are 1.
Value weights_of_classes(Network& network, std::string_view loss, Value prediction,
                         const LabelOptions& options);

// The attribute of the ops of losses.
std::int64_t ignored_label(const LabelOptions& options);

}  // namespace narrowgauge
