// SPDX-License-Identifier: Apache-2.0
// A graph that computes the same with ops that ONNX has.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge::onnx {

// Ops of our own become their parts, and what ONNX types more narrowly gets casts; regions too. Ops
// that remain have no counterpart.
narrowgauge::Graph expressible(const narrowgauge::Graph& graph);

}  // namespace narrowgauge::onnx
