// SPDX-License-Identifier: Apache-2.0
// The share of a set that is for the test.
#pragma once

#include <string_view>

#include "narrowgauge/error.h"

namespace narrowgauge {

// Throws UsageError, beginning with `who`, for what is no share.
inline void check_test_share(double share, std::string_view who) {
  require(share >= 0 && share <= 1, who, ": expected a share for the test from 0 to 1, got ",
          share);
}

}  // namespace narrowgauge
