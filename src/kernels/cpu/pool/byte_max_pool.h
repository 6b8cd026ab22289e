// SPDX-License-Identifier: Apache-2.0
// Max pooling of bytes over one to three spatial axes, for any strides; fastest where channels lie
// together.
#pragma once

#include "kernels/cpu/pool/pooling.h"

namespace narrowgauge::cpu {

// inputs {x}, outputs {y}, both u8 or i8. A window without an element of x gives the least byte.
Prepared prepare_byte_max_pool(const View& x, const View& y, const PoolWindow& window);

}  // namespace narrowgauge::cpu
