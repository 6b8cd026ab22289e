// SPDX-License-Identifier: Apache-2.0
// The weight gradient of batch_inner_convolution.h.
#pragma once

#include "kernels/cpu/batch_inner/batch_inner_convolution.h"

namespace narrowgauge::cpu {

// Sets workspace and run.
void prepare_batch_inner_weight_gradient(const BatchInnerConvolution& convolution,
                                         Prepared& prepared);

}  // namespace narrowgauge::cpu
