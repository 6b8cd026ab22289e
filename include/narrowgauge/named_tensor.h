// SPDX-License-Identifier: Apache-2.0
// A tensor and what it is called.
#pragma once

#include <string>

#include "narrowgauge/export.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

struct NG_API NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace narrowgauge
