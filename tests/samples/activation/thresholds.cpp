// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/thresholds.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

NG_SAMPLES(thresholds, unary_samples<Shrink>(-2, 2, {.bias = 0.3, .lambd = 0.7}),
           unary_samples<ThresholdedRelu>(-2, 2, {.alpha = 0.4}))
