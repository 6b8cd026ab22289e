// SPDX-License-Identifier: Apache-2.0
// Sequences and optionals of tensors as files beside a model hold them (SequenceProto and
// OptionalProto of onnx-data.proto).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/onnx/box.h"
#include "io/onnx/tensor.h"
#include "io/onnx/type.h"

namespace narrowgauge::onnx {

struct SequenceData {
  std::string name;
  std::int64_t element_type = 0;  // 1: tensors
  std::vector<TensorData> tensors;
  Stated stated = 0;
};

struct OptionalData {
  std::string name;
  std::int64_t element_type = 0;  // 1: a tensor, 3: a sequence
  std::optional<TensorData> tensor;
  std::optional<Box<SequenceData>> sequence;
  Stated stated = 0;
};

// Reads a file that holds a value of the type, such as ONNX's test cases have: the tensor, the
// elements of a sequence, or what is in an optional, if anything. DataError as in read.h, and for
// other types.
std::vector<TensorData> read_value(const std::string& path, const Type& type);

}  // namespace narrowgauge::onnx
