// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/steps.h"

#include "ops/no_gradient.h"
#include "ops/table.h"

NG_OPS(steps, narrowgauge::FromSteps, narrowgauge::ToSteps)
NG_NO_GRADIENT(steps, "of groups that predict", narrowgauge::FromSteps, narrowgauge::ToSteps)
