// SPDX-License-Identifier: Apache-2.0
// A model file of ONNX as a network that models, trainers and studies build.
#pragma once

#include <map>
#include <string>

#include "io/onnx/model.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

// Adds a graph to a network, its states as they begin and as they go on, its outputs by their
// names.
void add_graph(const Graph& graph, Network& network);

// Imports the model once; throws UnknownValueError where a shape depends on values that only a run
// knows. The network names all outputs and returns the one to train by.
BuildNetwork onnx_network(const onnx::Model& model, const std::map<std::string, TensorType>& types,
                          const OnnxTraining& training = {});
// The network of a file. ModelError naming the file, also where shapes depend on such values.
BuildNetwork onnx_network(const std::string& path, const KnownInputs& known,
                          const OnnxTraining& training);
// The types of inputs with these sizes. UsageError where the model has no such input.
std::map<std::string, TensorType> types_with(const onnx::Model& model,
                                             const std::map<std::string, Dims>& sizes);
// The model with Constant nodes in place of these inputs, in the dtypes that it states. UsageError
// where it has no such input, or one of another shape, or where a dtype cannot hold a number.
onnx::Model with_values(onnx::Model model, const std::map<std::string, Tensor>& values);
// "resnet50" of "models/resnet50.onnx".
std::string network_name(const std::string& path);

}  // namespace narrowgauge
