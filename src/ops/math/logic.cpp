// SPDX-License-Identifier: Apache-2.0
#include "ops/math/logic.h"

#include "ops/table.h"

NG_OPS(logic, narrowgauge::And, narrowgauge::Or, narrowgauge::Xor, narrowgauge::Not)
