// SPDX-License-Identifier: Apache-2.0
// A tensor and what it is called.
#pragma once

#include <string>

#include "narrowgauge/export.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// A tensor of a file or a data set, under the name it has there.
struct NG_API NamedTensor {
  std::string name;  // what the tensor is called there
  Tensor tensor;     // its values, shared with copies of this
};

}  // namespace narrowgauge
