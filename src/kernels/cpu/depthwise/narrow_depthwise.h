// SPDX-License-Identifier: Apache-2.0
// Convolutions of bf16 in which each channel has a window of its own, with channels together: exact
// products that are added in f32, for 32 channels and seven pixels of a line at a time.
#pragma once

#include <string>

#include "base/machine/cpu.h"
#include "kernels/cpu/contraction/bounded_convolution.h"

namespace narrowgauge::cpu {

// Why the kernel cannot take it; "" when it can.
std::string narrow_depthwise_reason(const BoundedConvolution& convolution, Isa isa);
Prepared prepare_narrow_depthwise(const BoundedConvolution& convolution);

}  // namespace narrowgauge::cpu
