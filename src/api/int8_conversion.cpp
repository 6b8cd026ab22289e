// SPDX-License-Identifier: Apache-2.0
#include "api/int8_conversion.h"

#include <algorithm>

#include "api/calibrate.h"
#include "passes/remove_dead_code.h"
#include "quantize/choose_formats.h"
#include "quantize/quantize_graph.h"

namespace narrowgauge {

std::vector<int> quantizable(const Graph& graph) {
  std::vector<int> nodes;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i)
    if (may_be_quantized(graph, i)) nodes.push_back(i);
  return nodes;
}

Int8Conversion::Int8Conversion(const Graph& f32, const ConvertOptions& options)
    : options_(options), prepared_(f32), candidates_(quantizable(prepared_)) {
  calibration_ = learn();
}

// What is bytes with all candidates, and what they hand on in f32, which is bytes where the
// addition behind it is no longer theirs.
std::vector<Value> Int8Conversion::values_to_observe() const {
  std::set<Value> values;
  for (const auto& group : byte_values(prepared_, {candidates_.begin(), candidates_.end()}).groups)
    values.insert(group.begin(), group.end());
  for (const int node : candidates_) values.insert({node, 0});
  return {values.begin(), values.end()};
}

Calibration Int8Conversion::learn() const {
  const std::vector<Value> values = values_to_observe();
  if (options_.calibration_file.empty())
    return calibrate(prepared_, values,
                     {options_.calibration, options_.calibration_samples, options_.seed},
                     [&](std::int64_t done) {
                       const std::int64_t all =
                           std::min(options_.calibration_samples, options_.calibration->size());
                       if (options_.progress) options_.progress({"calibrating", done, all});
                     });
  Calibration known = Calibration::load(options_.calibration_file);
  for (const Value value : values)
    require<DataError>(known.has(prepared_.value_name(value)), options_.calibration_file,
                       ": is of another network, it has no value '", prepared_.value_name(value),
                       "'");
  return known;
}

Graph Int8Conversion::with_bytes_in(const std::set<int>& contractions) const {
  Quantization quantization{contractions, byte_values(prepared_, contractions), {}, {}};
  quantization.formats =
      choose_formats(prepared_, quantization.values, calibration_, options_.calibrator);
  return remove_dead_code(quantize_graph(prepared_, quantization));
}

std::map<int, double> Int8Conversion::sensitivity(const Validation& validation) const {
  std::map<int, double> errors;
  for (const int node : candidates_) {
    errors[node] = validation.of(with_bytes_in({node}), options_.sensitivity_samples).error;
    if (options_.progress)
      options_.progress({"sensitivity", std::ssize(errors), std::ssize(candidates_)});
  }
  return errors;
}

}  // namespace narrowgauge
