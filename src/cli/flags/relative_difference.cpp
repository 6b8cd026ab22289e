// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/relative_difference.h"

#include <algorithm>
#include <cmath>

namespace narrowgauge::cli {

double relative_difference(const Tensor& got, const Tensor& expected) {
  double difference = 0, largest = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double a = got.at(i), e = expected.at(i);
    const bool same = a == e || (std::isnan(a) && std::isnan(e));
    if (!same) difference = std::max(difference, std::isfinite(a - e) ? std::abs(a - e) : INFINITY);
    if (std::isfinite(e)) largest = std::max(largest, std::abs(e));
  }
  return difference == 0 ? 0 : difference / std::max(largest, 1e-30);
}

}  // namespace narrowgauge::cli
