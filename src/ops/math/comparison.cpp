// SPDX-License-Identifier: Apache-2.0
#include "ops/math/comparison.h"

#include "ops/no_gradient.h"
#include "ops/table.h"

namespace narrowgauge {}  // namespace narrowgauge

NG_OPS(comparison, narrowgauge::Equal, narrowgauge::Greater, narrowgauge::GreaterOrEqual,
       narrowgauge::Less, narrowgauge::LessOrEqual, narrowgauge::IsNaN, narrowgauge::IsInf)
NG_NO_GRADIENT(comparison, "logical", narrowgauge::Equal, narrowgauge::Greater,
               narrowgauge::GreaterOrEqual, narrowgauge::Less, narrowgauge::LessOrEqual,
               narrowgauge::IsNaN, narrowgauge::IsInf)
