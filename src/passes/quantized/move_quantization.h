// SPDX-License-Identifier: Apache-2.0
// Lets ops that move or compare values work on bytes, and drops quantisations that change nothing.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// DequantizeLinear with one scale goes behind ops that move values (Reshape, Transpose, Slice,
// ...), with one for each row also behind a Gather of rows, behind MaxPool, and behind a Concat
// whose parts all have the same scale and zero point; QuantizeLinear goes before other Concats that
// nobody else reads. A QuantizeLinear of what was dequantised with the same scale and zero point is
// dropped, as is a Relu before one whose zero point is the least byte.
Graph move_quantization(const Graph& graph);

}  // namespace narrowgauge
