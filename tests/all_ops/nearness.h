// SPDX-License-Identifier: Apache-2.0
// Outputs of an op beside those that are expected, whose elements may be infinite or NaN.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "narrowgauge/tensor.h"

namespace narrowgauge::testing_support {

// The largest of the finite elements by magnitude; 0 if there is none.
inline double largest_of(std::span<const Tensor> outputs) {
  double largest = 0;
  for (const Tensor& output : outputs)
    for (std::int64_t i = 0; i < output.size(); ++i)
      if (std::isfinite(output.at(i))) largest = std::max(largest, std::abs(output.at(i)));
  return largest;
}

// Demands that each element differs by at most `bound`, or is the same infinity or NaN. Both have
// as many.
inline void expect_within(const Tensor& got, const Tensor& expected, double bound) {
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double a = got.at(i), e = expected.at(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    ASSERT_LE(std::abs(a - e), bound) << "element " << i;
  }
}

}  // namespace narrowgauge::testing_support
