// SPDX-License-Identifier: Apache-2.0
#include "api/conversion/int8_conversion.h"

#include <algorithm>
#include <cmath>

#include "api/conversion/calibrate.h"
#include "ops/convolution/conv.h"
#include "passes/simplify/remove_dead_code.h"
#include "quantize/bias_correction.h"
#include "quantize/choose_formats.h"
#include "quantize/equalize.h"

namespace narrowgauge {

void require_quantizable(const std::string& name, const Graph& graph,
                         const ConvertOptions& options) {
  require(has_ranges(options),
          "convert: int8 needs samples for calibration, from which the ranges of values follow");
  require(!quantizable(graph).empty(), "convert: ", name,
          " has no convolution or product of f32 values with fixed weights, int8 changes nothing");
  check_calibrator(options.calibrator);
  require(options.calibration_samples > 0, "convert: expected samples for calibration, got ",
          options.calibration_samples);
}

bool has_ranges(const ConvertOptions& options) {
  return options.calibration != nullptr || !options.calibration_files.empty();
}

std::vector<int> quantizable(const Graph& graph) {
  std::vector<int> nodes;
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i)
    if (may_be_quantized(graph, i)) nodes.push_back(i);
  return nodes;
}

Int8Conversion::Int8Conversion(const Graph& f32, const ConvertOptions& options)
    : options_(options),
      prepared_(options.equalize ? equalize(f32) : f32),
      candidates_(quantizable(prepared_)) {
  calibration_ = learn();
}

// The values that are bytes with all candidates, and what they hand on in f32, which is bytes where
// the addition behind it is no longer theirs.
std::vector<Value> Int8Conversion::values_to_observe() const {
  std::set<Value> values;
  for (const auto& group : byte_values(prepared_, {candidates_.begin(), candidates_.end()}).groups)
    values.insert(group.begin(), group.end());
  for (const int node : candidates_) values.insert({node, 0});
  return {values.begin(), values.end()};
}

CalibratedNetwork Int8Conversion::network() const {
  CalibratedNetwork made{.equalized = options_.equalize};
  for (const int index : candidates_) {
    const Node& node = prepared_.node(index);
    const std::span<const float> weights = prepared_.constant_value(node.input(1))->values<float>();
    double squares = 0;
    for (const float weight : weights) squares += double{weight} * double{weight};
    made.weights[node.full_name()] = std::sqrt(squares / static_cast<double>(weights.size()));
  }
  return made;
}

Calibration Int8Conversion::learn() const {
  const std::vector<Value> values = values_to_observe();
  Calibration seen = options_.calibration_files.empty() ? observed(values) : kept(values);
  if (!options_.keep_calibration.empty()) seen.save(options_.keep_calibration);
  return seen;
}

Calibration Int8Conversion::observed(const std::vector<Value>& values) const {
  const std::int64_t all = std::min(options_.calibration_samples, options_.calibration->size());
  Calibration seen = calibrate(prepared_, values,
                               {options_.calibration, options_.calibration_samples, options_.seed},
                               [&](std::int64_t done) {
                                 if (options_.progress)
                                   options_.progress({"calibrating", done, all});
                               });
  seen.set_network(network());
  return seen;
}

Calibration Int8Conversion::kept(const std::vector<Value>& values) const {
  std::optional<Calibration> all;
  for (const std::string& file : options_.calibration_files) {
    const Calibration part = Calibration::load(file);
    require_same_network(part, values, file);
    if (all)
      all->merge(part);
    else
      all = part;
  }
  return std::move(*all);
}

void Int8Conversion::require_same_network(const Calibration& part, const std::vector<Value>& values,
                                          const std::string& file) const {
  for (const Value value : values)
    require<DataError>(part.has(prepared_.value_name(value)), file,
                       ": is of another network, it has no value '", prepared_.value_name(value),
                       "'");
  require<DataError>(part.names().size() == values.size(), file, ": is of another network, it has ",
                     part.names().size(), " values, expected ", values.size());
  const bool equalized = part.network().equalized;
  require(equalized == options_.equalize, file, ": is of the network ",
          equalized ? "with channels of equal ranges, convert without --plain"
                    : "without equal ranges of channels, convert with --plain",
          " (ConvertOptions::equalize)");
  const std::string differs = difference(part.network(), network());
  require<DataError>(differs.empty(), file, ": is of another network, ", differs);
  require<DataError>(part.samples() > 0, file, ": has no samples");
}

namespace {

WeightFormat weight_format(const ConvertOptions& options) {
  return {.bits = options.weight_bits, .by_channel = options.channel_scales};
}

}  // namespace

// The shift of each channel's bias that makes up for how rounded weights move its mean. Channels of
// a product are known where it has rows [N, channels].
std::optional<Tensor> Int8Conversion::bias_shift_of(int index) const {
  const Node& node = prepared_.node(index);
  const Value x = node.input(0);
  if (!options_.correct_bias || node.inputs.size() < 2 || node.op->inputs.size() < 3) return {};
  if (!node.is<Conv>() && prepared_.type(x).shape.size() != 2) return {};
  const std::vector<double> means = calibration_.of(prepared_.value_name(x)).channels.means();
  const WeightAxes axes = weight_axes(node);
  const Tensor& weights = *prepared_.constant_value(node.input(1));
  if (std::ssize(means) != weights.dims()[static_cast<std::size_t>(axes.input)] * axes.groups)
    return {};  // calibration saw other numbers of channels
  const Tensor rounded =
      dequantize_weights(quantize_weights(weights, axes.output, weight_format(options_)));
  return corrected_bias({}, bias_shift(weights, rounded, means, axes));
}

Quantization Int8Conversion::quantization(const std::set<int>& contractions) const {
  const OwnScale scale = own_scale(prepared_, calibration_, options_.calibrator);
  Quantization made{contractions, byte_values(prepared_, contractions, scale), {}, {}};
  made.weights = weight_format(options_);
  made.formats = choose_formats(prepared_, made.values, calibration_, options_.calibrator);
  for (const int node : contractions)
    if (auto shift = bias_shift_of(node)) made.bias_shifts[node] = std::move(*shift);
  return made;
}

Graph Int8Conversion::quantized(const Quantization& quantization) const {
  return remove_dead_code(quantize_graph(prepared_, quantization));
}

Graph Int8Conversion::with_bytes_in(const std::set<int>& contractions) const {
  return quantized(quantization(contractions));
}

Graph Int8Conversion::trainable() const {
  Quantization made = quantization({candidates_.begin(), candidates_.end()});
  made.trainable = true;
  made.bias_shifts.clear();
  return quantized(made);
}

// The sensitivity in the formats that all candidates together give the values, so that a format
// which is too coarse for one of its readers shows there.
std::map<int, double> Int8Conversion::sensitivity(const Validation& validation) const {
  std::map<int, double> errors;
  const auto formats = quantization({candidates_.begin(), candidates_.end()}).formats;
  for (const int node : candidates_) {
    Quantization alone = quantization({node});
    for (auto& [value, format] : alone.formats)
      if (const auto found = formats.find(value); found != formats.end()) format = found->second;
    errors[node] = validation.of(quantized(alone), options_.sensitivity_samples).error;
    if (options_.progress)
      options_.progress({"sensitivity", std::ssize(errors), std::ssize(candidates_)});
  }
  return errors;
}

}  // namespace narrowgauge
