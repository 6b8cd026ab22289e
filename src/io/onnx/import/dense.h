// SPDX-License-Identifier: Apache-2.0
// Sparse tensors of ONNX as dense ones.
#pragma once

#include "io/onnx/tensor.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge::onnx {

// The values at their places, zero elsewhere (ONNX IR: row-major indices, or coordinates). Throws
// ModelError for indices that do not fit, and for a tensor of which next to nothing is stored: a
// small file must not cost gigabytes.
Tensor dense(const SparseTensor& sparse);

}  // namespace narrowgauge::onnx
