// SPDX-License-Identifier: Apache-2.0
// The stream of a random node.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "base/random.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

// `seed` replaces the run's unless it is negative; fractions count, too.
inline RandomStream stream_of_node(double seed, const std::string& name,
                                   const RunContext& context) {
  return {seed < 0 ? context.seed : std::bit_cast<std::uint64_t>(seed), name, context.step};
}

}  // namespace narrowgauge
