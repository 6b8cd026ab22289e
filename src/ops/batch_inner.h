// SPDX-License-Identifier: Apache-2.0
// Operands that lie batch-inner (Storage::batch_inner()), as kernels for other layouts see them.
#pragma once

#include "kernels/cpu/view.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// [N,C,H,W] in whole blocks of 32 images and 32 channels.
bool lies_batch_inner(const Operand& operand);
bool is_batch_inner(const Request& request);  // all operands that are present

// The operand's memory for a kernel that does the same to every image and channel, such as pooling.
// Where the request is batch-inner, that of [N/32, 32 C, H, W] in channels last, which is the same.
cpu::View spatial_view(const Request& request, const Operand& operand);

}  // namespace narrowgauge
