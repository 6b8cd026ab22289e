// SPDX-License-Identifier: Apache-2.0
// A model file of ONNX as a network that models, trainers and studies build.
#pragma once

#include <map>
#include <string>

#include "io/onnx/model.h"
#include "narrowgauge/network.h"

namespace narrowgauge {

// Imports the model once; throws UnknownValueError where a shape depends on values that only a run
// knows. The network adds all outputs, by their names, in Mode::evaluate, and returns the first.
BuildNetwork onnx_network(const onnx::Model& model, const std::map<std::string, TensorType>& types);
// The types of inputs with these sizes. UsageError where the model has no such input, or states
// another shape.
std::map<std::string, TensorType> types_with(const onnx::Model& model,
                                             const std::map<std::string, Dims>& sizes);
// "resnet50" of "models/resnet50.onnx".
std::string network_name(const std::string& path);

}  // namespace narrowgauge
