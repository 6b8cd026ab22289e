// SPDX-License-Identifier: Apache-2.0
#include "io/arrays/permutation.h"

#include <numeric>
#include <utility>

#include "base/random.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

std::vector<std::int64_t> permutation(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  require(count >= 0 && count <= std::int64_t{1} << 32,
          "permutation: expected at most 2^32 samples, got ", count);
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const RandomStream random(seed, "shuffle", static_cast<std::uint64_t>(epoch));
  // Fisher and Yates; scaling 32 bits to [0, i) favours some places by at most i / 2^32.
  for (std::uint64_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[(random.bits(i) * i) >> 32]);
  return order;
}

}  // namespace narrowgauge
