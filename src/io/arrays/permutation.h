// SPDX-License-Identifier: Apache-2.0
// The order of samples in an epoch.
#pragma once

#include <cstdint>
#include <vector>

namespace narrowgauge {

// 0 ... count-1 shuffled, a function of (seed, epoch). Throws UsageError above 2^32 samples.
std::vector<std::int64_t> permutation(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

}  // namespace narrowgauge
