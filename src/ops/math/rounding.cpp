// SPDX-License-Identifier: Apache-2.0
#include "ops/math/rounding.h"

#include "ops/no_gradient.h"
#include "ops/table.h"

namespace narrowgauge {}  // namespace narrowgauge

NG_OPS(rounding, narrowgauge::Sign, narrowgauge::Floor, narrowgauge::Ceil, narrowgauge::Round)
NG_NO_GRADIENT(rounding, "constant almost everywhere", narrowgauge::Sign, narrowgauge::Floor,
               narrowgauge::Ceil, narrowgauge::Round)
