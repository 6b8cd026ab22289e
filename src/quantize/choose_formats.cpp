// SPDX-License-Identifier: Apache-2.0
#include "quantize/choose_formats.h"

namespace narrowgauge {

std::map<Value, AffineFormat> choose_formats(const Graph& graph, const ByteValues& values,
                                             const Calibration& calibration,
                                             std::string_view calibrator) {
  std::map<Value, AffineFormat> formats;
  for (const std::vector<Value>& group : values.groups) {
    Histogram histogram;
    for (const Value value : group)
      histogram.merge(calibration.of(graph.value_name(value)).histogram);
    require(!histogram.is_empty(), "calibration: value '", graph.value_name(group.front()),
            "' was finite for none of the samples");
    const AffineFormat format = affine_format(choose_range(calibrator, histogram, {}), DType::u8);
    for (const Value value : group) formats[value] = format;
  }
  return formats;
}

}  // namespace narrowgauge
