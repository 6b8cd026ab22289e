// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ir/unknown_op.h"
#include "models/layer_input.h"
#include "ops/activation/gelu.h"
#include "ops/activation/relu.h"
#include "ops/activation/sigmoid.h"
#include "ops/convolution/conv.h"
#include "ops/convolution/conv_transpose.h"
#include "ops/math/gemm.h"
#include "ops/nn/dropout.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/min_max.h"
#include "ops/pool/average_pool.h"
#include "ops/pool/max_pool.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"
#include "passes/training/differentiate.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

std::string Network::layer_name(const std::string& given, const char* kind) {
  const std::string name = graph_.unique_name(prefix_ + (given.empty() ? kind : given));
  if (sharing_) shared_names_[name] = given.empty() ? "" : prefix_ + given;
  return name;
}

std::string Network::state_name(const std::string& name) const {
  if (!sharing_) return name;
  const std::size_t dot = name.rfind('.');
  for (std::size_t end = dot; end != std::string::npos && end > 0; end = name.rfind('.', end - 1)) {
    const auto layer = shared_names_.find(name.substr(0, end));
    if (layer == shared_names_.end()) continue;
    require(!layer->second.empty(), "shared: layer '", layer->first, "' needs a name of its own");
    return layer->second + name.substr(end);
  }
  return name;
}

Value Network::add_state(State state) {
  state.name = state_name(state.name);
  const State* const known = sharing_ ? graph_.find_state(state.name) : nullptr;
  if (!known) return graph_.state(std::move(state));
  require(known->type == state.type, "shared: state '", state.name, "' is ", known->type,
          ", expected ", state.type);
  return known->next;
}

Value Network::input(const std::string& name, Shape input_shape, DType dtype) {
  return graph_.input(name, {dtype, std::move(input_shape)});
}

Value Network::parameter(const std::string& name, Dims dims, Initial initial) {
  State state;
  state.name = name;
  state.role = Role::parameter;
  state.type = {DType::f32, Shape(dims.begin(), dims.end())};
  state.initial = std::move(initial);
  return add_state(std::move(state));
}

void Network::output(std::string name, Value value) {
  const bool taken = std::ranges::find(outputs_, name, &GraphOutput::name) != outputs_.end();
  require(!taken, "network '", graph_.name(), "': has an output '", name, "' already");
  require_input(*this, value, "output", name);
  outputs_.push_back({std::move(name), value});
}

Value Network::find_output(std::string_view name) const {
  std::string names;
  for (const GraphOutput& output : outputs_) {
    if (output.name == name) return output.value;
    names += narrowgauge::concat(names.empty() ? "" : ", ", '\'', output.name, '\'');
  }
  throw UsageError(narrowgauge::concat("network '", graph_.name(), "': has no output '", name,
                                       "', only ", names.empty() ? "one without a name" : names));
}

AutocastScope::AutocastScope(Graph& graph, DType dtype)
    : graph_(graph), before_(graph.scope().autocast) {
  NodeScope scope = graph.scope();
  scope.autocast = dtype;
  graph.set_scope(std::move(scope));
}

AutocastScope::~AutocastScope() {
  NodeScope scope = graph_.scope();
  scope.autocast = before_;
  graph_.set_scope(std::move(scope));
}

AutocastScope Network::autocast(DType dtype) { return autocast(AutocastOptions{.dtype = dtype}); }

AutocastScope Network::autocast(AutocastOptions options) {
  require(is_narrow(options.dtype), "autocast: expected f16 or bf16, got ", options.dtype);
  return {graph_, options.enabled ? options.dtype : DType::f32};
}

Values Network::gradients(Value scalar, const Values& of) {
  require_input(*this, scalar, "gradients");
  for (const Value x : of) require_input(*this, x, "gradients");
  require(shape(scalar).empty(), "gradients: expected a scalar, got ", graph_.type(scalar));
  const Value outputs[] = {scalar};
  const Value seeds[] = {graph_.constant(Tensor::scalar(graph_.type(scalar).dtype, 1))};
  Values found = append_gradients(graph_, outputs, seeds, of);
  for (std::size_t i = 0; i < of.size(); ++i)
    if (found[i].is_absent()) {
      const TensorType& type = graph_.type(of[i]);
      const Value zero = graph_.constant(Tensor::scalar(type.dtype, 0));
      found[i] = graph_.add(ExpandTo{type.shape}, {zero});
    }
  return found;
}

Value Network::statistic(const std::string& name, Dims dims, double initial) {
  State state;
  state.name = name;
  state.role = Role::statistic;
  state.type = {DType::f32, Shape(dims.begin(), dims.end())};
  state.initial = Initial::constant(initial);
  return add_state(std::move(state));
}

namespace {

// Fans are products of whole numbers that may be too large for one.
Initial uniform_of_fan(double fan) {
  const double bound = 1 / std::sqrt(fan);
  return Initial::uniform(-bound, bound);
}

Initial he_normal(double fan) { return Initial::normal(0, std::sqrt(2.0 / fan)); }

double fan_of(std::int64_t channels, std::int64_t kernel) {
  return static_cast<double>(channels) * static_cast<double>(kernel) * static_cast<double>(kernel);
}

void check_conv(std::int64_t channels, const ConvOptions& options) {
  require_count("conv", "channels", channels);
  require_count("conv", "kernel", options.kernel);
  require_count("conv", "stride", options.stride);
  require_count("conv", "dilation", options.dilation);
  require_count("conv", "padding, or -1 as suits the kernel,", options.padding, -1);
}

}  // namespace

Value Network::conv(Value x, std::int64_t channels, ConvOptions options, std::string given) {
  require_input(*this, x, "conv", given);
  require(shape(x).size() == 4 && shape(x)[1].is_known(),
          "conv: expected images [N,C,H,W] of known channels, got ", graph_.type(x));
  require(options.groups >= 1 && shape(x)[1].value() >= options.groups, "conv: expected from 1 to ",
          shape(x)[1], " groups for ", graph_.type(x), ", got ", options.groups);
  check_conv(channels, options);
  const std::string name = layer_name(given, "conv");
  const std::int64_t inputs = shape(x)[1].value() / options.groups;
  const std::int64_t k = options.kernel;
  const std::int64_t pad = options.padding >= 0 ? options.padding : options.dilation * (k - 1) / 2;
  const bool uniform = initials_.conv == ConvInitial::uniform;
  const double fan = fan_of(initials_.conv == ConvInitial::he_fan_out ? channels : inputs, k);
  const Initial begin = uniform ? uniform_of_fan(fan) : he_normal(fan);
  Values operands{x, parameter(name + ".weight", {channels, inputs, k, k}, begin)};
  if (options.bias)
    operands.push_back(
        parameter(name + ".bias", {channels}, uniform ? begin : Initial::constant(0)));
  Conv op;
  op.kernel_shape = {k, k};
  op.strides = {options.stride, options.stride};
  op.dilations = {options.dilation, options.dilation};
  op.pads = {pad, pad, pad, pad};
  op.group = options.groups;
  return graph_.add(std::move(op), std::move(operands), {.name = name});
}

Value Network::conv_transpose(Value x, std::int64_t channels, ConvTransposeOptions options,
                              std::string given) {
  require_input(*this, x, "conv_transpose", given);
  constexpr std::string_view layer = "conv_transpose";
  require(shape(x).size() == 4 && shape(x)[1].is_known(), layer,
          ": expected images [N,C,H,W] of known channels, got ", graph_.type(x));
  const auto [k, stride, dilation, groups, padding, extra, bias] = options;
  require_count(layer, "channels", channels);
  require_count(layer, "kernel", k);
  require_count(layer, "stride", stride);
  require_count(layer, "dilation", dilation);
  require_count(layer, "padding", padding, 0);
  require_count(layer, "output_padding", extra, 0);
  require(groups >= 1 && channels % groups == 0, "conv_transpose: expected groups that divide ",
          channels, " channels, got ", groups);
  const std::string name = layer_name(given, "convtranspose");
  const std::int64_t inputs = shape(x)[1].value();
  const Initial begin = uniform_of_fan(fan_of(channels / groups, k));
  Values operands{x, parameter(name + ".weight", {inputs, channels / groups, k, k}, begin)};
  if (bias) operands.push_back(parameter(name + ".bias", {channels}, begin));
  ConvTranspose op;
  op.kernel_shape = {k, k};
  op.strides = {stride, stride};
  op.dilations = {dilation, dilation};
  op.pads = Dims(4, padding);
  op.output_padding = {extra, extra};
  op.group = groups;
  return graph_.add(std::move(op), std::move(operands), {.name = name});
}

Value Network::linear(Value x, std::int64_t units, std::string given) {
  require_input(*this, x, "linear", given);
  const Shape from = shape(x);
  require_count("linear", "units", units);
  require(from.size() >= 2 && from.back().is_known(),
          "linear: expected [N,...,features] with known features, got ", graph_.type(x));
  const std::int64_t features = from.back().value();
  require(features >= 1, "linear: expected at least one feature, got ", graph_.type(x));
  const std::string name = layer_name(given, "linear");
  const Initial usual = uniform_of_fan(static_cast<double>(features));
  const Value weight =
      parameter(name + ".weight", {units, features}, initials_.linear_weight.value_or(usual));
  const Value bias = parameter(name + ".bias", {units}, initials_.linear_bias.value_or(usual));
  Gemm op;
  op.transB = 1;
  if (from.size() == 2) return graph_.add(std::move(op), {x, weight, bias}, {.name = name});
  const Dim rows = element_count(Shape(from.begin(), from.end() - 1));
  const Value flat = graph_.add(ReshapeTo{{rows, features}}, {x}, {.name = name + ".rows"});
  const Value y = graph_.add(std::move(op), {flat, weight, bias}, {.name = name});
  Shape to = from;
  to.back() = units;
  return graph_.add(ReshapeTo{std::move(to)}, {y}, {.name = name + ".unfolded"});
}

Value Network::batch_norm(Value x, std::string given) {
  require_input(*this, x, "batch_norm", given);
  require(shape(x).size() >= 2 && shape(x)[1].is_known(),
          "batch_norm: expected [N,C,...] of known channels, got ", graph_.type(x));
  const std::string name = layer_name(given, "batchnorm");
  const std::int64_t channels = shape(x)[1].value();
  const Value scale = parameter(name + ".weight", {channels}, Initial::constant(1));
  const Value bias = parameter(name + ".bias", {channels}, Initial::constant(0));
  const Value mean = statistic(name + ".running_mean", {channels}, 0);
  const Value variance = statistic(name + ".running_var", {channels}, 1);
  BatchNormalization op;
  op.training_mode = mode_ == Mode::train ? 1 : 0;
  op.unbiased = mode_ == Mode::train && running_variance_ == RunningVariance::unbiased;
  const Value y = graph_.add(op, {x, scale, bias, mean, variance}, {.name = name});
  if (mode_ == Mode::train) {
    graph_.set_next(state_name(name + ".running_mean"), {y.node, 1});
    graph_.set_next(state_name(name + ".running_var"), {y.node, 2});
  }
  return y;
}

Value Network::layer_norm(Value x, std::string given, double epsilon) {
  require(epsilon >= double{std::numeric_limits<float>::min()} && std::isfinite(epsilon),
          "layer_norm: expected a finite epsilon of 1.2e-38 or more, got ", epsilon);
  require_input(*this, x, "layer_norm", given);
  require(!shape(x).empty(), "layer_norm: expected at least one axis, got ", graph_.type(x));
  require(shape(x).back().is_known(), "layer_norm: expected a last axis of known size, got ",
          graph_.type(x));
  const std::string name = layer_name(given, "layernorm");
  const std::int64_t features = shape(x).back().value();
  const Value scale = parameter(name + ".weight", {features}, Initial::constant(1));
  const Value bias = parameter(name + ".bias", {features}, Initial::constant(0));
  LayerNormalization op;
  op.epsilon = epsilon;
  return graph_.add(op, {x, scale, bias}, {.name = name});
}

Value Network::dropout(Value x, double ratio, std::string given) {
  require(ratio >= 0 && ratio < 1, "dropout: expected a ratio from 0 to below 1, got ", ratio);
  require_input(*this, x, "dropout", given);
  if (mode_ != Mode::train || ratio == 0) return x;
  const std::string name = layer_name(given, "dropout");
  const Value rate = graph_.constant(Tensor::scalar(DType::f32, ratio));
  const Value training = graph_.constant(Tensor::scalar(DType::boolean, 1));
  return graph_.add(Dropout{}, {x, rate, training}, {.name = name});
}

Value Network::relu(Value x) { return graph_.add(Relu{}, {x}, {.name = layer_name("", "relu")}); }
Value Network::relu6(Value x) {
  const Value least = graph_.constant(Tensor::scalar(DType::f32, 0));
  const Value most = graph_.constant(Tensor::scalar(DType::f32, 6));
  return graph_.add(Clip{}, {x, least, most}, {.name = layer_name("", "relu6")});
}
Value Network::gelu(Value x) { return graph_.add(Gelu{}, {x}, {.name = layer_name("", "gelu")}); }
Value Network::sigmoid(Value x) {
  return graph_.add(Sigmoid{}, {x}, {.name = layer_name("", "sigmoid")});
}
Value Network::tanh(Value x) { return graph_.add(Tanh{}, {x}, {.name = layer_name("", "tanh")}); }
Value Network::add(Value a, Value b) {
  return graph_.add(Add{}, {a, b}, {.name = layer_name("", "add")});
}

namespace {

template <class Pool>
Pool pool_of(const PoolOptions& options) {
  require_count("pool", "kernel", options.kernel);
  require_count("pool", "stride, or 0 for the kernel,", options.stride, 0);
  require_count("pool", "padding", options.padding, 0);
  Pool op;
  const std::int64_t stride = options.stride > 0 ? options.stride : options.kernel;
  op.kernel_shape = {options.kernel, options.kernel};
  op.strides = {stride, stride};
  op.pads = Dims(4, options.padding);
  return op;
}

}  // namespace

Value Network::max_pool(Value x, PoolOptions options) {
  return graph_.add(pool_of<MaxPool>(options), {x}, {.name = layer_name("", "maxpool")});
}

Value Network::average_pool(Value x, PoolOptions options) {
  return graph_.add(pool_of<AveragePool>(options), {x}, {.name = layer_name("", "averagepool")});
}

Value Network::global_average_pool(Value x) {
  return flatten(graph_.add(GlobalAveragePool{}, {x}, {.name = layer_name("", "globalaverage")}));
}

Value Network::flatten(Value x) {
  require_input(*this, x, "flatten");
  require(!shape(x).empty(), "flatten: expected at least one axis, got ", graph_.type(x));
  const Shape& from = shape(x);
  const Dim rest = element_count(Shape(from.begin() + 1, from.end()));
  return graph_.add(ReshapeTo{{from.front(), rest}}, {x}, {.name = layer_name("", "flatten")});
}

Value Network::op(std::string_view op_name, Values inputs, std::string_view attributes) {
  const OpRecord* record = op_table().find(op_name);
  if (!record) throw ModelError("network: " + unknown_op_text(op_name, op_table()));
  require(record != &record_of<Input>() && record != &record_of<StateValue>(), "network: op '",
          op_name, "' cannot be added by name; use input() or parameter()");
  if (!record->inputs.empty() && record->inputs.back().variadic)
    for (std::size_t i = record->inputs.size() - 1; i < inputs.size(); ++i)
      require_input(*this, inputs[i], "op", op_name);
  return graph_.add(*record, parse_attributes(attributes, *record, op_table()), std::move(inputs),
                    {.name = graph_.unique_name(prefix_ + std::string(op_name))});
}

Value Network::shared(const std::function<Value()>& body) {
  require_function(body, "shared", "body");
  const bool outer = std::exchange(sharing_, true);
  const Value result = body();
  sharing_ = outer;
  return result;
}

Value Network::scope(const std::string& name, const std::function<Value()>& body) {
  require_function(body, "scope", "body");
  const std::string outer = prefix_;
  prefix_ += name + ".";
  const Value result = body();
  prefix_ = outer;
  return result;
}

}  // namespace narrowgauge
