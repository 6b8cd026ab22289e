// SPDX-License-Identifier: Apache-2.0
// Writes into a graph where numbers become bytes: QuantizeLinear and DequantizeLinear as ONNX's
// tools place them, so that other runtimes read the same network.
#pragma once

#include <map>
#include <string>

#include "narrowgauge/graph.h"
#include "quantize/affine.h"
#include "quantize/byte_values.h"

namespace narrowgauge {

struct Quantization {
  std::set<int> contractions;             // nodes that compute on bytes; see may_be_quantized()
  ByteValues values;                      // of these
  std::map<Value, AffineFormat> formats;  // of each value in `values`
  std::map<int, Tensor> bias_shifts{};    // f32 [channels] added to the bias of a contraction
  WeightFormat weights{};
  // Whether training goes on: weights and biases of all contractions that may be quantized are f32
  // parameters, and weights pass through bytes as activations do.
  bool trainable = false;
};

// The graph with the values of `quantization` quantized behind the nodes that make them, and
// dequantized before the ports that read bytes. Weights become i8 constants with a scale for each
// output channel; a bias becomes i32 in units of the product of both scales, or stays as it is
// where it does not fit.
Graph quantize_graph(const Graph& graph, const Quantization& quantization);

}  // namespace narrowgauge
