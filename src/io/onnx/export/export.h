// SPDX-License-Identifier: Apache-2.0
// A model from a graph, the inverse of import.h: f32, or with the casts of a precision plan.
#pragma once

#include <map>
#include <string>

#include "io/onnx/model.h"
#include "narrowgauge/graph.h"

namespace narrowgauge::onnx {

// Inputs, outputs, states and nodes keep their names; states become initializers with the values
// given, or else the data that they begin with. Symbols become dim_params, and every value has its
// type in value_info. Ops of our own are said by ops of ONNX, in the oldest opset from 21 on that
// has all of them. Ops of the program that decompose() are said so too, others stand in their own
// domain, with all attributes. Contractions in f32 by tf32, bf16x3 and the like are written as f32.
// Throws ModelError naming node and op for what ONNX cannot say: ops of training, simulated matrix
// units, states that change in a step.
Model export_graph(const narrowgauge::Graph& graph,
                   const std::map<std::string, Tensor>& states = {});

}  // namespace narrowgauge::onnx
