// SPDX-License-Identifier: Apache-2.0
// Shows operands in batch-inner blocks (Storage::batch_inner()) to kernels for other layouts.
#pragma once

#include "kernels/cpu/core/view.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// Whether the operand is [N,C,H,W] in whole blocks of 32 images and 32 channels.
bool lies_batch_inner(const Operand& operand);
bool is_batch_inner(const Request& request);  // all operands that are present

// The operand's memory for a kernel that treats every image and channel alike, such as pooling.
// Batch-inner operands are seen as [N/32, 32 C, H, W] in channels last, which is the same memory.
cpu::View spatial_view(const Request& request, const Operand& operand);

}  // namespace narrowgauge
