// SPDX-License-Identifier: Apache-2.0
// Products of whole numbers whose lowest bits count.
#pragma once

#include "narrowgauge/dtype.h"

namespace narrowgauge {

// Modulo 2^128: that of two u64 may be beyond what a WideInteger holds.
constexpr WideInteger wide_product(WideInteger a, WideInteger b) {
  __extension__ using Bits = unsigned __int128;
  return static_cast<WideInteger>(static_cast<Bits>(a) * static_cast<Bits>(b));
}

}  // namespace narrowgauge
