// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise/logic.h"

#include "ops/no_gradient.h"
#include "ops/table.h"

NG_OPS(logic, narrowgauge::And, narrowgauge::Or, narrowgauge::Xor, narrowgauge::Not)
NG_NO_GRADIENT(logic, "logical", narrowgauge::And, narrowgauge::Or, narrowgauge::Xor,
               narrowgauge::Not)
