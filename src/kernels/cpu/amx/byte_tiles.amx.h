// SPDX-License-Identifier: Apache-2.0
// The tile registers of AMX as kernels of bytes use them: two tiles of A, two of B and four sums.
// A tile of B is 16 rows of 16 fours of neighbours in the contraction. Only for *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/amx/tiles.amx.h"

namespace narrowgauge::cpu::amx {

// `form`: 2 if a is signed, plus 1 if b is.
#define NG_MULTIPLY_BYTES(c, a, b) \
  do {                             \
    if constexpr (form == 0)       \
      _tile_dpbuud(c, a, b);       \
    else if constexpr (form == 1)  \
      _tile_dpbusd(c, a, b);       \
    else if constexpr (form == 2)  \
      _tile_dpbsud(c, a, b);       \
    else                           \
      _tile_dpbssd(c, a, b);       \
  } while (false)

// Multiplies two tiles of a, or only the first, by two of b, which lie together.
template <int form, Reading reading, bool two = true>
[[gnu::always_inline]] inline void multiply_bytes(const TilesOfA& a, const std::byte* b) {
  load_first<reading>(a.first, a.step);
  _tile_loadd(6, b, 64);
  NG_MULTIPLY_BYTES(0, 4, 6);
  _tile_loadd(7, b + 1024, 64);
  NG_MULTIPLY_BYTES(1, 4, 7);
  if constexpr (two) {
    load_second<reading>(a.second, a.step);
    NG_MULTIPLY_BYTES(2, 5, 6);
    NG_MULTIPLY_BYTES(3, 5, 7);
  }
}

#undef NG_MULTIPLY_BYTES

}  // namespace narrowgauge::cpu::amx

#endif
