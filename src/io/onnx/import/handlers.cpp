// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/handlers.h"

namespace narrowgauge::onnx {

namespace {

Handler find_in(std::span<const NamedHandler> table, std::string_view op) {
  for (const NamedHandler& entry : table)
    if (entry.op == op) return entry.handle;
  return nullptr;
}

}  // namespace

Handler find_handler(std::string_view op) {
  for (const auto table : {constant_handlers(), sequence_handlers(), control_flow_handlers(),
                           attention_handlers(), gradient_handlers(), image_handlers()})
    if (const Handler found = find_in(table, op)) return found;
  return nullptr;
}

Handler find_text_handler(std::string_view op) { return find_in(text_handlers(), op); }

}  // namespace narrowgauge::onnx
