// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/handlers.h"

namespace narrowgauge::onnx {

namespace {

const NamedHandler* find_in(std::span<const NamedHandler> table, std::string_view op) {
  for (const NamedHandler& entry : table)
    if (entry.op == op) return &entry;
  return nullptr;
}

}  // namespace

const NamedHandler* find_handler(std::string_view op) {
  for (const auto table :
       {constant_handlers(), sequence_handlers(), control_flow_handlers(), attention_handlers(),
        gradient_handlers(), image_handlers(), quantized_handlers()})
    if (const NamedHandler* const found = find_in(table, op)) return found;
  return nullptr;
}

const NamedHandler* find_text_handler(std::string_view op) { return find_in(text_handlers(), op); }

}  // namespace narrowgauge::onnx
