// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/relayout.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Relayout>> relayout_samples() { return {{{}, {sample("f32[2,3,4,5]")}}}; }

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(relayout, relayout_samples())
