// SPDX-License-Identifier: Apache-2.0
// The learning rate as an op of the training graph.
#pragma once

#include "narrowgauge/optimizer.h"
#include "ops/training/schedules/learning_rate.h"

namespace narrowgauge {

LearningRate learning_rate_of(const Optimizer& optimizer);

}  // namespace narrowgauge
