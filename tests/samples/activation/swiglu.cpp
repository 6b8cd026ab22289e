// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/swiglu.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

NG_SAMPLES(swiglu, gradient_samples<SwiGLU>(-4, 4, {.alpha = 1.5}))
