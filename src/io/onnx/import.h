// SPDX-License-Identifier: Apache-2.0
// A graph from a model: functions stand in their place, nodes of older opsets are brought to the
// newest, and what depends only on constants is computed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/onnx/model.h"
#include "io/onnx/texts.h"
#include "narrowgauge/graph.h"

namespace narrowgauge::onnx {

// What an input is when the model is imported.
struct KnownInput {
  std::vector<Tensor> values;    // one; the elements of a sequence; none for an absent optional
  std::optional<Texts> texts{};  // a tensor of texts instead
};

struct ImportOptions {
  // Types of inputs in place of what the model states, such as those of tensors at hand.
  std::map<std::string, TensorType> types{};
  // Inputs that become constants; then all that depends on them alone is computed.
  std::map<std::string, KnownInput> known{};
  // Whether float initializers become parameters; else they are constants as the others are.
  bool parameters = true;
};

// Inputs and outputs keep their names. Float initializers become parameters of their names, other
// ones constants. Sizes that the model names are symbols, those that it leaves open get symbols of
// their own. Throws ModelError naming what is not known or not supported, UnknownValueError where
// a shape depends on values that only a run knows.
narrowgauge::Graph import_graph(const Model& model, const ImportOptions& options = {});

// An imported graph, with the texts of those outputs that are texts.
struct Imported {
  narrowgauge::Graph graph;
  std::map<std::string, Texts> texts;
};
Imported import_model(const Model& model, const ImportOptions& options = {});

}  // namespace narrowgauge::onnx
