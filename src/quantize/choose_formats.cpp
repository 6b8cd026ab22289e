// SPDX-License-Identifier: Apache-2.0
#include "quantize/choose_formats.h"

#include <string>

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

OwnScale own_scale(const Graph& graph, const Calibration& calibration,
                   std::string_view calibrator) {
  return [&graph, &calibration, by = std::string(calibrator)](Value value) -> double {
    const std::string name = graph.value_name(value);
    if (!calibration.has(name)) return 0;
    const Histogram& histogram = calibration.of(name).histogram;
    if (histogram.is_empty()) return 0;
    return affine_format(choose_range(by, histogram, {}), DType::u8).scale;
  };
}

}  // namespace narrowgauge
