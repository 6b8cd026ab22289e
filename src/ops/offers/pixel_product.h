// SPDX-License-Identifier: Apache-2.0
// Products by constant matrices, as convolutions on tiles of pixels take them.
#pragma once

#include <string>

#include "kernels/cpu/contraction/bounded_convolution.h"
#include "narrowgauge/isa.h"

namespace narrowgauge {

// A matrix of rows, whatever stands before its last axis, as images of one pixel.
cpu::BoundedConvolution product_of_pixels(const cpu::MatMulViews& views, int threads);

// Why tiles of pixels cannot take the product as this convolution; "" when they can.
std::string pixel_product_reason(const cpu::MatMulViews& views,
                                 const cpu::BoundedConvolution& pixels, Isa isa);

}  // namespace narrowgauge
