// SPDX-License-Identifier: Apache-2.0
#include "api/int8_conversion.h"

#include <algorithm>

#include "api/calibrate.h"
#include "ops/math/gemm.h"
#include "ops/nn/conv.h"
#include "passes/remove_dead_code.h"
#include "quantize/bias_correction.h"
#include "quantize/choose_formats.h"
#include "quantize/equalize.h"

namespace narrowgauge {

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

namespace {

WeightFormat weight_format(const ConvertOptions& options) {
  return {.bits = options.weight_bits, .by_channel = options.channel_scales};
}

WeightAxes axes_of(const Node& node) {
  if (node.is<Conv>()) return {.output = 0, .input = 1, .groups = node.as<Conv>().group};
  const bool transposed = node.is<Gemm>() && node.as<Gemm>().transB != 0;
  return {.output = transposed ? 0 : 1, .input = transposed ? 1 : 0};
}

}  // namespace

// By what rounded weights move the mean of each channel. Channels of a product are known where it
// has rows [N, channels].
std::optional<Tensor> Int8Conversion::bias_shift_of(int index) const {
  const Node& node = prepared_.node(index);
  const Value x = node.input(0);
  if (!options_.correct_bias || node.inputs.size() < 2 || node.op->inputs.size() < 3) return {};
  if (!node.is<Conv>() && prepared_.type(x).shape.size() != 2) return {};
  const std::vector<double> means = calibration_.of(prepared_.value_name(x)).channels.means();
  const WeightAxes axes = axes_of(node);
  const Tensor& weights = *prepared_.constant_value(node.input(1));
  if (std::ssize(means) != weights.dims()[static_cast<std::size_t>(axes.input)] * axes.groups)
    return {};  // calibration saw other numbers of channels
  const Tensor rounded =
      dequantize_weights(quantize_weights(weights, axes.output, weight_format(options_)));
  return corrected_bias({}, bias_shift(weights, rounded, means, axes));
}

Quantization Int8Conversion::quantization(const std::set<int>& contractions) const {
  Quantization made{contractions, byte_values(prepared_, contractions), {}, {}};
  made.weights = weight_format(options_);
  made.formats = choose_formats(prepared_, made.values, calibration_, options_.calibrator);
  for (const int node : contractions)
    if (auto shift = bias_shift_of(node)) made.bias_shifts[node] = std::move(*shift);
  return made;
}

Graph Int8Conversion::with_bytes_in(const std::set<int>& contractions) const {
  return remove_dead_code(quantize_graph(prepared_, quantization(contractions)));
}

Graph Int8Conversion::trainable() const {
  Quantization made = quantization({candidates_.begin(), candidates_.end()});
  made.trainable = true;
  made.bias_shifts.clear();
  return remove_dead_code(quantize_graph(prepared_, made));
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
