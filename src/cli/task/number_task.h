// SPDX-License-Identifier: Apache-2.0
// Built-in networks whose targets are numbers. A network learns them in deviations from their mean
// and predicts them in their own units, so that the size of these does not matter.
#pragma once

#include "cli/task/task.h"

namespace narrowgauge::cli {

// Mean and deviation of each of the K numbers of targets f32 [N,K]. Those that are all the same
// have a deviation of 1. Throws DataError naming the data where some are not finite.
NumberFacts numbers_in(const Tensor& targets, const std::string& data);

// The network, whose outputs [N,K] become numbers in their units.
BuildNetwork predict_numbers(BuildNetwork build, const NumberFacts& numbers);

// Mean squared error in squared deviations: 1 is that of always predicting the mean.
Loss number_loss(const NumberFacts& numbers);

// Keeps the numbers in f32, since their units may be out of the range of f16.
void keep_numbers_wide(RunPrecision& precision, const Task& task);

}  // namespace narrowgauge::cli
