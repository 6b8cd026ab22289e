// SPDX-License-Identifier: Apache-2.0
// Types of a model's inputs as types of a graph.
#pragma once

#include "io/onnx/model.h"

namespace narrowgauge::onnx {

// Names of sizes become symbols; a size left open gets a symbol of the value's name and its axis.
// ModelError where it is no tensor, or of a dtype without counterpart; UnknownValueError where not
// even the rank is stated.
TensorType type_of(const ValueInfo& info);
// The format of its elements; ModelError as above.
DType element_of(const ValueInfo& info);
// Whether it is a sequence, or an optional one.
bool is_sequence(const ValueInfo& info);
// The format, or ModelError.
DType dtype_of(DataType type);

}  // namespace narrowgauge::onnx
