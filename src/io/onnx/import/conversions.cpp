// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/conversions.h"

namespace narrowgauge::onnx {

std::map<std::string, std::int64_t> opsets_of(const std::vector<OpsetImport>& imports) {
  std::map<std::string, std::int64_t> opsets;
  for (const OpsetImport& import : imports)
    opsets[import.domain == "ai.onnx" ? "" : import.domain] = import.version;
  return opsets;
}

Values convert(NodeImport& node) {
  for (const auto table : {conversions_of_meaning(), conversions_of_attributes()})
    for (const Conversion& conversion : table) {
      if (conversion.op != node.node().full_name() || node.version() >= conversion.until) continue;
      if (Values made = conversion.convert(node); !made.empty()) return made;
    }
  return {};
}

}  // namespace narrowgauge::onnx
