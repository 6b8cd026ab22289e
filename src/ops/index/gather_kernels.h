// SPDX-License-Identifier: Apache-2.0
// Kernels of Gather and its gradient.
#pragma once

#include <span>

#include "narrowgauge/kernel.h"

namespace narrowgauge {

std::span<const Kernel> gather_kernels();
std::span<const Kernel> gather_gradient_kernels();

}  // namespace narrowgauge
