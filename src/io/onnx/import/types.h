// SPDX-License-Identifier: Apache-2.0
// Inputs of a model, and their types as types of a graph.
#pragma once

#include <vector>

#include "io/onnx/model.h"

namespace narrowgauge::onnx {

// The inputs without an initializer: what a run must be given. They live as long as the graph.
std::vector<const ValueInfo*> given_inputs(const Graph& graph);

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
