// SPDX-License-Identifier: Apache-2.0
// Tensors of texts. A graph has none: they are what a model reads, computes and gives while it is
// imported.
#pragma once

#include <string>
#include <vector>

#include "io/onnx/tensor.h"

namespace narrowgauge::onnx {

struct Texts {
  Dims dims;
  std::vector<std::string> values;  // row-major, UTF-8
  bool operator==(const Texts&) const = default;
};

// Throws DataError unless the tensor is of texts, as many as dims say.
Texts texts_of(const TensorData& tensor);

}  // namespace narrowgauge::onnx
