// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/handlers.h"

namespace narrowgauge::onnx {

Handler find_handler(std::string_view op) {
  for (const auto table :
       {constant_handlers(), sequence_handlers(), control_flow_handlers(), attention_handlers()})
    for (const NamedHandler& entry : table)
      if (entry.op == op) return entry.handle;
  return nullptr;
}

}  // namespace narrowgauge::onnx
