// SPDX-License-Identifier: Apache-2.0
// Samples that a loss of the same arguments has too.
#pragma once

#include "ops/loss/softmax_cross_entropy.h"
#include "samples/samples.h"

namespace narrowgauge {

std::vector<Sample<SoftmaxCrossEntropyLoss>> softmax_cross_entropy_loss_samples();

}  // namespace narrowgauge
