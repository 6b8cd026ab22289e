// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/conversions.h"

namespace narrowgauge::onnx {

Values convert(NodeImport& node) {
  for (const auto table : {conversions_of_meaning(), conversions_of_attributes()})
    for (const Conversion& conversion : table) {
      if (conversion.op != node.node().full_name() || node.version() >= conversion.until) continue;
      if (Values made = conversion.convert(node); !made.empty()) return made;
    }
  return {};
}

}  // namespace narrowgauge::onnx
