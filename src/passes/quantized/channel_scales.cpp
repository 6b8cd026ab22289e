// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized/channel_scales.h"

#include <cmath>
#include <map>
#include <optional>

#include "base/enumerate.h"
#include "ir/readers.h"
#include "ops/activation/relu.h"
#include "ops/axes/axes.h"
#include "ops/convolution/conv.h"
#include "ops/pointwise/expression.h"
#include "ops/pointwise/min_max.h"
#include "ops/quantized/quantize_linear.h"
#include "passes/core/rebuild.h"
#include "passes/quantized/quantized_values.h"

namespace narrowgauge {

namespace {

// The steps of a value by channel, and what stands around it.
struct ChannelSteps {
  std::vector<double> scales;
  double zero = 0;
  int convolution = -1, bound = -1, quantize = -1;  // bound: a Relu or Clip; -1: none
  std::vector<int> dequantize, depthwise;           // the readers, and theirs
};

class StepsFinder {
 public:
  StepsFinder(const Graph& graph, const Readers& readers) : graph_(graph), readers_(readers) {}

  std::optional<ChannelSteps> find(int index) const {
    ChannelSteps found;
    found.quantize = index;
    const Node& node = graph_.node(index);
    if (!node.is<QuantizeLinear>() || node.as<QuantizeLinear>().block_size != 0) return {};
    if (!read_steps(node, node.as<QuantizeLinear>().axis, found)) return {};
    if (!find_before(node.inputs[0], found) || !find_behind(found)) return {};
    return found;
  }

 private:
  const TensorType& type(Value value) const { return graph_.type(value); }

  // Whether the node has scales above 0 by channel, and one zero point, which `found` then gets.
  bool read_steps(const Node& node, std::int64_t axis, ChannelSteps& found) const {
    const Tensor* const scales = graph_.constant_value(node.inputs[1]);
    const auto rank = static_cast<std::int64_t>(type(node.inputs[0]).shape.size());
    if (!scales || scales->dtype() != DType::f32 || scales->dims().size() != 1) return false;
    if ((axis < 0 ? axis + rank : axis) != 1) return false;
    for (std::int64_t i = 0; i < scales->size(); ++i) {
      if (!(scales->at(i) > 0) || std::isinf(scales->at(i))) return false;
      found.scales.push_back(scales->at(i));
    }
    const std::optional<double> zero = zero_point(graph_, input_or_absent(node, 2));
    found.zero = zero.value_or(0);
    return zero.has_value();
  }

  // The convolution whose result is quantised.
  bool find_before(Value x, ChannelSteps& found) const {
    const auto is_alone = [&](Value value) { return readers_.only(value) >= 0; };
    const Node& node = graph_.producer(x);
    if (node.is<Relu>() || node.is<Clip>()) {
      if (!is_alone(x) || !is_free_of_channels(node, found)) return false;
      found.bound = x.node;
      x = node.inputs[0];
    }
    found.convolution = x.node;
    return is_alone(x) && has_quantized_weights(graph_.producer(x));
  }

  bool has_quantized_weights(const Node& node) const {
    int axis = -1;
    if (!node.is<Conv>() || is_simulated(node.math) || node.outputs[0].type.dtype != DType::f32)
      return false;
    const auto w = dequantized(graph_, node.inputs[1], &axis);
    const Value bias = input_or_absent(node, 2);
    return w && axis <= 0 && lasts(graph_, w->bytes) && lasts(graph_, w->scale) &&
           (w->zero.is_absent() || graph_.constant_value(w->zero)) &&
           is_known(type(w->bytes).shape) &&
           (bias.is_absent() || (type(bias).dtype == DType::f32 && lasts(graph_, bias)));
  }

  // Whether the bounds are 0 and one that no byte passes.
  bool is_free_of_channels(const Node& node, const ChannelSteps& found) const {
    if (node.is<Relu>()) return true;
    const auto bound = [&](std::size_t input) {
      const Value value = input_or_absent(node, input);
      return value.is_absent() ? nullptr : graph_.constant_value(value);
    };
    const Tensor *const low = bound(1), *const high = bound(2);
    if (!low || !high || low->size() != 1 || high->size() != 1 || low->at(0) != 0) return false;
    const DType dtype = graph_.node(found.quantize).outputs[0].type.dtype;
    const double most = dtype == DType::u8 ? 255 : 127;
    for (const double scale : found.scales) {
      const float steps = static_cast<float>(high->at(0)) / static_cast<float>(scale);
      if (!(std::nearbyint(steps) + found.zero >= most)) return false;
    }
    return true;
  }

  bool find_behind(ChannelSteps& found) const {
    const Value bytes{found.quantize, 0};
    const DType dtype = type(bytes).dtype;
    if (readers_.leaves(bytes) || (dtype != DType::u8 && dtype != DType::i8)) return false;
    for (const int reader : readers_.of(bytes)) {
      const Node& node = graph_.node(reader);
      ChannelSteps same;
      if (!node.is<DequantizeLinear>() || node.inputs[0] != bytes ||
          node.as<DequantizeLinear>().block_size != 0 ||
          !read_steps(node, node.as<DequantizeLinear>().axis, same) ||
          same.scales != found.scales || same.zero != found.zero ||
          node.outputs[0].type.dtype != DType::f32 || readers_.leaves({reader, 0}))
        return false;
      found.dequantize.push_back(reader);
      for (const int depthwise : readers_.of({reader, 0})) {
        if (!reads_by_channel(graph_.node(depthwise), {reader, 0}, found)) return false;
        found.depthwise.push_back(depthwise);
      }
    }
    return !found.depthwise.empty();
  }

  bool reads_by_channel(const Node& node, Value x, const ChannelSteps& found) const {
    return has_quantized_weights(node) && node.inputs[0] == x && node.inputs[1] != x &&
           node.as<Conv>().group == std::ssize(found.scales);
  }

  const Graph& graph_;
  const Readers& readers_;
};

// The factors of the weights and biases of a convolution, for each output channel.
struct ChannelFactors {
  std::vector<double> weights, biases;
};

// Multiplies factors by scales, of which each is for one output channel or for several.
void multiply(std::vector<double>& factors, std::int64_t channels,
              const std::vector<double>& scales) {
  factors.resize(static_cast<std::size_t>(channels), 1.0);
  const std::size_t each = factors.size() / scales.size();
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] *= scales[i / each];
}

std::vector<double> reciprocals(std::vector<double> numbers) {
  for (double& number : numbers) number = 1 / number;
  return numbers;
}

class Absorber {
 public:
  explicit Absorber(const Graph& graph) : graph_(graph), readers_(graph), rebuild_(graph) {}

  Graph run() {
    const StepsFinder finder(graph_, readers_);
    for (int i = 0; i < static_cast<int>(graph_.nodes().size()); ++i)
      if (const auto found = finder.find(i)) take(*found);
    if (zeros_.empty()) return graph_;
    for (const auto& [i, node] : enumerate(graph_.nodes())) place(i, node);
    return rebuild_.finish();
  }

 private:
  std::int64_t channels_of(int convolution) const {
    return graph_.type(graph_.node(convolution).inputs[1]).shape[0].value();
  }

  void take(const ChannelSteps& found) {
    ChannelFactors& before = factors_[found.convolution];
    const std::int64_t channels = channels_of(found.convolution);
    const std::vector<double> factors = reciprocals(found.scales);
    multiply(before.weights, channels, factors);
    multiply(before.biases, channels, factors);
    for (const int depthwise : found.depthwise)
      multiply(factors_[depthwise].weights, channels_of(depthwise), found.scales);
    if (found.bound >= 0) bounds_.insert(found.bound);
    zeros_[found.quantize] = found.zero;
    for (const int dequantize : found.dequantize) zeros_[dequantize] = found.zero;
  }

  void place(int i, const Node& node) {
    if (factors_.contains(i))
      rebuild_.copy(i, node.attributes, scaled_inputs(node, factors_[i]));
    else if (zeros_.contains(i))
      rebuild_.copy(i, node.attributes, inputs_of_one_step(node, zeros_[i]));
    else if (bounds_.contains(i))
      rebuild_.map({i, 0}, rebuild_.graph().add(Relu{}, {rebuild_.mapped(node.inputs[0])},
                                                options_of(node)));
    else
      rebuild_.copy(i);
  }

  Rewriting rewriting() { return {rebuild_.graph(), {}, {}}; }

  Values inputs_of_one_step(const Node& node, double zero) {
    Rewriting r = rewriting();
    const bool quantizes = node.is<QuantizeLinear>();
    const DType bytes = quantizes ? node.outputs[0].type.dtype : graph_.type(node.inputs[0]).dtype;
    return {rebuild_.mapped(node.inputs[0]), r.scalar(1, DType::f32), r.scalar(zero, bytes)};
  }

  Expression multiplied(Rewriting& r, Value value, const std::vector<double>& factors) {
    Tensor numbers(DType::f32, {std::ssize(factors)});
    for (const auto& [i, factor] : enumerate(factors)) numbers.set(i, factor);
    return Expression(r, value) * Expression(r, r.constant(std::move(numbers)));
  }

  Values scaled_inputs(const Node& node, const ChannelFactors& factors) {
    const NodeScope around = rebuild_.graph().scope();
    rebuild_.graph().set_scope({.prefix = node.full_name() + ".", .origin = node.origin});
    Rewriting r = rewriting();
    Values inputs = rebuild_.mapped(node.inputs);
    int axis = -1;
    const QuantizedValue w = *dequantized(graph_, node.inputs[1], &axis);
    Value scale = rebuild_.mapped(w.scale);
    scale = multiplied(r, scale, factors.weights);
    inputs[1] = r.add(DequantizeLinear{.axis = 0},
                      {rebuild_.mapped(w.bytes), scale, zeros_for(r, w.zero, r.shape(scale))});
    if (!factors.biases.empty() && inputs.size() > 2 && !inputs[2].is_absent())
      inputs[2] = multiplied(r, inputs[2], factors.biases);
    rebuild_.graph().set_scope(around);
    return inputs;
  }

  // The zero points, one for each output channel.
  Value zeros_for(Rewriting& r, Value given, const Shape& shape) {
    if (given.is_absent()) return absent;
    const Tensor& known = *graph_.constant_value(given);
    if (known.dims() == known_dims(shape)) return rebuild_.mapped(given);
    return r.constant(Tensor::full(known.dtype(), known_dims(shape), known.at(0)));
  }

  const Graph& graph_;
  const Readers readers_;
  Rebuild rebuild_;
  std::map<int, ChannelFactors> factors_;  // by convolution
  std::map<int, double> zeros_;            // by QuantizeLinear and DequantizeLinear
  std::set<int> bounds_;
};

}  // namespace

Graph absorb_channel_scales(const Graph& graph) { return Absorber(graph).run(); }

}  // namespace narrowgauge
