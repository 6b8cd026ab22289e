// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/softsign.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

NG_SAMPLES(softsign, unary_samples<Softsign>(-4, 4), gradient_samples<SoftsignGradient>(-4, 4))
