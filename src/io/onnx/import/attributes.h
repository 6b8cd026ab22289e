// SPDX-License-Identifier: Apache-2.0
// Attributes of an ONNX node as those of an op.
#pragma once

#include <vector>

#include "io/onnx/model.h"
#include "narrowgauge/op_record.h"

namespace narrowgauge::onnx {

// The attributes of a node by name; what the node leaves out keeps the op's default. Throws
// ModelError for an attribute that the op does not have, or of another type.
Attributes attributes_of(const OpRecord& op, const Node& node);

// A list of numbers becomes a tensor of one dimension.
template <class T>
Tensor tensor_of(const std::vector<T>& numbers) {
  return Tensor::from<T>({std::ssize(numbers)}, numbers);
}

}  // namespace narrowgauge::onnx
