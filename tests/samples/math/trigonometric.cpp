// SPDX-License-Identifier: Apache-2.0
#include "ops/math/trigonometric.h"

#include "samples/elementwise.h"
#include "samples/samples.h"

NG_SAMPLES(trigonometric, unary_samples<Tan>(-1.2, 1.2), unary_samples<Asin>(-0.9, 0.9),
           unary_samples<Acos>(-0.9, 0.9), unary_samples<Atan>(-3, 3), unary_samples<Sinh>(-2, 2),
           unary_samples<Cosh>(-2, 2), unary_samples<Asinh>(-3, 3), unary_samples<Acosh>(1.2, 4),
           unary_samples<Atanh>(-0.8, 0.8))
