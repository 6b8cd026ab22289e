// SPDX-License-Identifier: Apache-2.0
#include "quantize/quantize_graph.h"

#include <cmath>

#include "ops/quantized/quantize_linear.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

class Quantizer {
 public:
  Quantizer(const Graph& graph, const Quantization& quantization)
      : graph_(graph), quantization_(quantization), rebuild_(graph) {}

  Graph run() {
    if (quantization_.trainable) find_parameters();
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      const Node& node = graph_.node(i);
      if (const auto name = parameters_.find(i); name != parameters_.end()) {
        rebuild_.map({i, 0}, parameter(name->second, node.as<Constant>().value));
        continue;
      }
      rebuild_.copy(i, node.attributes, inputs_of(i));
      for (int o = 0; o < static_cast<int>(node.outputs.size()); ++o)
        if (const auto format = quantization_.formats.find({i, o});
            format != quantization_.formats.end())
          through_bytes({i, o}, format->second);
    }
    return rebuild_.finish();
  }

 private:
  Graph& made() { return rebuild_.graph(); }

  // Weights and biases, named after the first contraction that reads them.
  void find_parameters() {
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i) {
      const Node& node = graph_.node(i);
      if (!may_be_quantized(graph_, i)) continue;
      parameters_.try_emplace(node.input(1).node, node.full_name() + ".weight");
      if (node.inputs.size() > 2 && !node.input(2).is_absent())
        parameters_.try_emplace(node.input(2).node, node.full_name() + ".bias");
    }
  }

  Value parameter(const std::string& name, const Tensor& value) {
    const int known = graph_.find_node(name);  // whose name is free if it becomes a parameter too
    const bool is_free = made().find_node(name) < 0 && (known < 0 || parameters_.contains(known));
    return made().state({is_free ? name : unique(name), Role::parameter, value.type(),
                         Initial::of(value), absent, absent});
  }

  Values inputs_of(int index) {
    const Node& node = graph_.node(index);
    Values inputs = rebuild_.mapped(node.inputs);
    for (std::size_t port = 0; port < inputs.size(); ++port)
      if (quantization_.values.ports.contains({index, static_cast<int>(port)}))
        inputs[port] = dequantized_.at(node.inputs[port]);
    if (quantization_.contractions.contains(index)) quantize_parameters(index, inputs);
    return inputs;
  }

  void through_bytes(Value value, const AffineFormat& format) {
    const std::string name = graph_.value_name(value);
    const Value scale =
        made().constant(Tensor::scalar(DType::f32, format.scale), unique(name + ".scale"));
    const Value zero = made().constant(Tensor::scalar(format.dtype, format.zero_point),
                                       unique(name + ".zero_point"));
    const Value bytes =
        made().add(QuantizeLinear{.output_dtype = format.dtype},
                   {rebuild_.mapped(value), scale, zero}, {.name = unique(name + ".quantized")});
    dequantized_[value] = made().add(DequantizeLinear{}, {bytes, scale, zero},
                                     {.name = unique(name + ".dequantized")});
  }

  void quantize_parameters(int index, Values& inputs) {
    const Node& node = graph_.node(index);
    const Value source = node.input(1);
    const int axis = weight_axes(node).output;
    const QuantizedWeights weights =
        quantize_weights(*graph_.constant_value(source), axis, quantization_.weights);
    if (quantization_.trainable) {
      inputs[1] = through_channel_bytes(source, weights, axis);
      return;
    }
    inputs[1] = dequantized(weights.numbers, weights.scales, axis, graph_.value_name(source));
    const Tensor bias = bias_of(index, weights.numbers.dims()[static_cast<std::size_t>(axis)]);
    if (bias.size() == 0) return;
    if (inputs.size() < 3) inputs.resize(3, absent);
    const Tensor units = bias_scales(quantization_.formats.at(node.input(0)).scale, weights.scales);
    const std::string name = node.full_name() + ".bias";
    inputs[2] = fits(bias, units) ? dequantized(quantize_bias(bias, units), units, 0, name)
                                  : made().constant(bias, unique(name));
  }

  Value through_channel_bytes(Value source, const QuantizedWeights& weights, int axis) {
    const std::string name = parameters_.at(source.node);
    const Value scale = made().constant(weights.scales, unique(name + ".scale"));
    const Value zero =
        made().constant(Tensor(DType::i8, weights.scales.dims()), unique(name + ".zero_point"));
    const Value bytes =
        made().add(QuantizeLinear{.axis = axis, .output_dtype = DType::i8},
                   {rebuild_.mapped(source), scale, zero}, {.name = unique(name + ".quantized")});
    return made().add(DequantizeLinear{.axis = axis}, {bytes, scale, zero},
                      {.name = unique(name + ".dequantized")});
  }

  // Whether whole numbers of these units, and sums of products beside them, fit 32 bits.
  static bool fits(const Tensor& bias, const Tensor& units) {
    for (std::int64_t c = 0; c < bias.size(); ++c)
      if (!(std::abs(bias.at(c)) < units.at(units.size() == 1 ? 0 : c) * 0x1p30)) return false;
    return true;
  }

  // The bias with its shift; empty where there is neither, or where there is no port for one.
  Tensor bias_of(int index, std::int64_t channels) const {
    const Node& node = graph_.node(index);
    const auto shift = quantization_.bias_shifts.find(index);
    const bool has_bias = node.inputs.size() > 2 && !node.input(2).is_absent();
    if (!has_bias && (shift == quantization_.bias_shifts.end() || node.op->inputs.size() < 3))
      return {};
    Tensor bias =
        has_bias ? graph_.constant_value(node.input(2))->clone() : Tensor(DType::f32, {channels});
    if (shift != quantization_.bias_shifts.end())
      for (std::int64_t c = 0; c < channels; ++c) bias.set(c, bias.at(c) + shift->second.at(c));
    return bias;
  }

  Value dequantized(const Tensor& numbers, const Tensor& scales, int axis,
                    const std::string& name) {
    const Value bytes = made().constant(numbers, unique(name + ".quantized"));
    const Value scale = made().constant(scales, unique(name + ".scale"));
    return made().add(DequantizeLinear{.axis = axis}, {bytes, scale},
                      {.name = unique(name + ".dequantized")});
  }

  std::string unique(const std::string& name) { return made().unique_name(name); }

  const Graph& graph_;
  const Quantization& quantization_;
  Rebuild rebuild_;
  std::map<Value, Value> dequantized_;
  std::map<int, std::string> parameters_;  // names of constants that become parameters
};

}  // namespace

Graph quantize_graph(const Graph& graph, const Quantization& quantization) {
  return Quantizer(graph, quantization).run();
}

}  // namespace narrowgauge
