// SPDX-License-Identifier: Apache-2.0
// The first convolution of a network in bf16: exact products of a plain image with the weights of
// 16 channels, added in f32.
#pragma once

#include <string>

#include "base/machine/cpu.h"
#include "kernels/cpu/contraction/bounded_convolution.h"

namespace narrowgauge::cpu {

// Why the kernel cannot take it; "" when it can.
std::string narrow_image_reason(const BoundedConvolution& convolution, Isa isa);
Prepared prepare_narrow_image(const BoundedConvolution& convolution);

}  // namespace narrowgauge::cpu
