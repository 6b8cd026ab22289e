// SPDX-License-Identifier: Apache-2.0
// The share of a set that is for the test.
#pragma once

#include <cstdint>
#include <string_view>

#include "narrowgauge/error.h"

namespace narrowgauge {

// Throws UsageError, beginning with `who`, for what is no share.
inline void check_test_share(double share, std::string_view who) {
  require(share >= 0 && share <= 1, who, ": expected a share for the test from 0 to 1, got ",
          share);
}

// How many of the first `rows` of a set in one part are for the test: they are spread evenly.
inline std::int64_t tests_before(std::int64_t rows, double share) {
  return static_cast<std::int64_t>(static_cast<double>(rows) * share);
}
inline bool is_for_test(std::int64_t row, double share) {
  return tests_before(row + 1, share) > tests_before(row, share);
}

}  // namespace narrowgauge
