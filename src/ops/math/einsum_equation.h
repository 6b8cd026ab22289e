// SPDX-License-Identifier: Apache-2.0
// The equation of Einsum, read for given inputs.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

// The axes of a term, each by a letter, or by a number below 0 for those of "...": -1 is the last
// of them.
using Labels = std::vector<int>;

struct EinsumEquation {
  std::vector<Labels> terms;  // one for each input
  Labels output;
  std::map<int, Dim> sizes;  // of each label; broadcast for those of "..."

  // Throws UsageError for text that is no equation and for shapes that do not fit it.
  EinsumEquation(std::string_view text, const std::vector<Shape>& shapes);
};

}  // namespace narrowgauge
