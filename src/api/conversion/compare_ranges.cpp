// SPDX-License-Identifier: Apache-2.0
// What each calibrator makes of the values of a network.
#include "api/conversion/frozen.h"
#include "api/conversion/int8_conversion.h"
#include "base/machine/floating_environment.h"
#include "quantize/choose_formats.h"
#include "quantize/freeze.h"

namespace narrowgauge {

namespace {

ChosenRange chosen_range(const std::string& calibrator, const AffineFormat& format,
                         const Histogram& histogram) {
  return {.calibrator = calibrator,
          .low = dequantize(format, least_number(format.dtype)),
          .high = dequantize(format, most_number(format.dtype)),
          .scale = format.scale,
          .clipped = clipped_share(histogram, format)};
}

}  // namespace

std::vector<ComparedRanges> compare_ranges(const Model& model, const ConvertOptions& options) {
  const FloatingEnvironment environment(Subnormals::keep);
  const Graph graph = frozen_graph(model);
  require(!is_quantized(graph), "convert: ", model.name(),
          " is quantized already, its own ranges stay");
  require_quantizable(model.name(), graph, options);
  const Int8Conversion conversion(graph, options);
  const Graph& prepared = conversion.prepared();
  const std::set<int> contractions(conversion.candidates().begin(), conversion.candidates().end());
  std::map<Value, ComparedRanges> all;
  for (const std::string& calibrator : usual_calibrators()) {
    const ByteValues values = byte_values(
        prepared, contractions, own_scale(prepared, conversion.calibration(), calibrator));
    for (const auto& [value, format] :
         choose_formats(prepared, values, conversion.calibration(), calibrator)) {
      const std::string name = prepared.value_name(value);
      const Histogram& histogram = conversion.calibration().of(name).histogram;
      ComparedRanges& range = all[value];
      range.name = name;
      range.least = histogram.least();
      range.most = histogram.most();
      range.chosen.push_back(chosen_range(calibrator, format, histogram));
    }
  }
  std::vector<ComparedRanges> ranges;
  for (auto& [value, range] : all) ranges.push_back(std::move(range));
  return ranges;
}

}  // namespace narrowgauge
