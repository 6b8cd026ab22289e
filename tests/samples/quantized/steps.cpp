// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/steps.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

// The scale rounds no quotient, so that formulas of any width round alike.
NG_SAMPLES(steps, unary_samples<FromSteps>(-9, 9, {.scale = 0.3, .zero = 3}),
           unary_samples<ToSteps>(-9, 9, {.scale = 0.25, .zero = 3, .low = -20, .high = 30}))
