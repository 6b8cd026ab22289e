// SPDX-License-Identifier: Apache-2.0
// Ops of ONNX that are not nodes of a graph: constants, sequences, optionals and encoded pictures,
// which exist only while a model is imported, and ops that hold graphs.
#pragma once

#include <string_view>

#include "io/onnx/import/node_import.h"

namespace narrowgauge::onnx {

// Returns what the node's outputs are.
using Handler = Items (*)(NodeImport& node);

struct NamedHandler {
  std::string_view op;
  Handler handle;
  std::string_view no_gradient = "";  // why none flows through, as in ops/no_gradient.h
};
// The handler by the op's full name; nullptr where it is an op like others.
const NamedHandler* find_handler(std::string_view op);
// The handler of a node that reads texts.
const NamedHandler* find_text_handler(std::string_view op);

std::span<const NamedHandler> constant_handlers();
std::span<const NamedHandler> sequence_handlers();
std::span<const NamedHandler> control_flow_handlers();
std::span<const NamedHandler> attention_handlers();
std::span<const NamedHandler> gradient_handlers();
std::span<const NamedHandler> image_handlers();
std::span<const NamedHandler> quantized_handlers();
std::span<const NamedHandler> text_handlers();

}  // namespace narrowgauge::onnx
