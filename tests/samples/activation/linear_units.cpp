// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/linear_units.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

NG_SAMPLES(linear_units, unary_samples<LeakyRelu>(-2, 2, {.alpha = 0.3}),
           gradient_samples<LeakyReluGradient>(), unary_samples<Elu>(-4, 2, {.alpha = 1.5}),
           gradient_samples<EluGradient>(-4, 2, {.alpha = 1.5}), unary_samples<HardSwish>(-5, 5),
           gradient_samples<HardSwishGradient>(-5, 5))
