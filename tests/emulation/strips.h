// SPDX-License-Identifier: Apache-2.0
// Included by force before src/ops/elementwise/strip_program.cpp: GCC makes vectors of its strips,
// which cannot be emulated, so that these stay with AVX2.
#pragma once

#include "base/machine/cpu.h"

#define isa() Isa::avx2
