// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/exponential_units.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

NG_SAMPLES(exponential_units, unary_samples<Celu>(-4, 2, {.alpha = 1.5}),
           unary_samples<Selu>(-4, 2))
