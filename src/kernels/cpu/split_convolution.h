// SPDX-License-Identifier: Apache-2.0
// Convolutions of f32 and f16 images in batch-inner blocks, from products of split values
// (split.h): forward and the gradient of the data. Rows of the source are split into strips that
// stay in L2, and pass the tiles there. The same bits for any number of threads.
#pragma once

#include "kernels/cpu/batch_inner_convolution.h"

namespace narrowgauge::cpu {

// Sets workspace and run; as prepare_batch_inner_convolution, for convolution.image of f32 or f16.
void prepare_split_convolution(const BatchInnerConvolution& convolution, Prepared& prepared);

}  // namespace narrowgauge::cpu
