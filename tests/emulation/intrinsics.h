// SPDX-License-Identifier: Apache-2.0
// Included by force before a kernel of AVX-512 or AMX is compiled for every CPU: what those units
// do, in C++. Names in namespace narrowgauge hide GCC's intrinsics from the kernels. Memory is read
// and written by ordinary code, lane by lane under a mask, so that the address sanitizer sees it;
// an address that must be aligned is checked.
#pragma once

#include "emulation/avx512_memory.h"
// After it: these macros would tell <immintrin.h> that the compiler has the units.
#define __AVX512F__ 1
#define __AVX512BW__ 1
#define __AMX_BF16__ 1
#include "emulation/avx512_arithmetic.h"
#include "emulation/avx512_conversions.h"
#include "emulation/avx512_products.h"
#include "emulation/avx512_shuffles.h"
#include "emulation/tiles.h"

// All that can be asked for.
#define __builtin_cpu_supports(unit) 1
