// SPDX-License-Identifier: Apache-2.0
// Builds the graph of a network layer by layer: each call adds an op with its parameters, which are
// named after it ("conv1.weight") and initialised as is usual for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// train: batch statistics, dropout. evaluate: running statistics. The states are the same.
enum class Mode : std::uint8_t { train, evaluate };

struct ConvOptions {
  std::int64_t kernel = 3, stride = 1, dilation = 1, groups = 1;
  std::int64_t padding = -1;  // -1: (dilation * (kernel - 1)) / 2 on each side, "same" at stride 1
  bool bias = true;
};

struct PoolOptions {
  std::int64_t kernel = 2;
  std::int64_t stride = 0;  // 0: the kernel
  std::int64_t padding = 0;
};

class NG_API Network {
 public:
  Network(std::string name, Mode mode) : graph_(std::move(name)), mode_(mode) {}

  Mode mode() const { return mode_; }
  Graph& graph() { return graph_; }
  Dim batch() const { return Dim::symbol("N"); }
  const Shape& shape(Value value) const { return graph_.type(value).shape; }

  // An input of f32, or of another dtype; the shape's first dimension is usually batch().
  Value input(const std::string& name, Shape shape, DType dtype = DType::f32);
  // A trained parameter, f32.
  Value parameter(const std::string& name, Dims dims, Initial initial);

  // Images [N, C, H, W]; weights uniform or normal with He's variance 2 / fan-in (He et al. 2015).
  Value conv(Value x, std::int64_t channels, ConvOptions options = {}, std::string name = "");
  // [N, features] -> [N, units]; weights and bias uniform in +-1/sqrt(features).
  Value linear(Value x, std::int64_t units, std::string name = "");
  // Per channel (axis 1), epsilon 1e-5, running averages with momentum 0.9.
  Value batch_norm(Value x, std::string name = "");
  Value layer_norm(Value x, std::string name = "");
  Value dropout(Value x, double ratio, std::string name = "");
  Value relu(Value x);
  Value gelu(Value x);
  Value sigmoid(Value x);
  Value tanh(Value x);
  Value add(Value a, Value b);
  Value max_pool(Value x, PoolOptions options = {});
  Value average_pool(Value x, PoolOptions options = {});
  Value global_average_pool(Value x);  // [N, C, H, W] -> [N, C]
  Value flatten(Value x);              // [N, ...] -> [N, rest]

  // A built-in op by its name, attributes as text: op("ReduceMean", {x}, "keepdims=0"). Names and
  // attributes are ONNX's. Throws ModelError for an unknown op or attribute.
  Value op(std::string_view op_name, Values inputs, std::string_view attributes = "");

  // Any op as a struct, also one of the program's own.
  template <Op T>
  Value apply(T op, Values inputs, std::string name = "") {
    return graph_.add(std::move(op), std::move(inputs), {.name = scoped(std::move(name))});
  }

  // Names of layers made inside `body` start with "name.".
  Value scope(const std::string& name, const std::function<Value()>& body);

 private:
  std::string scoped(std::string name) const { return name.empty() ? name : prefix_ + name; }
  std::string layer_name(const std::string& given, const char* kind);
  Value statistic(const std::string& name, Dims dims, double initial);

  Graph graph_;
  Mode mode_;
  std::string prefix_;
};

// Makes the network's inputs and layers, and returns the prediction.
using BuildNetwork = std::function<Value(Network&)>;

struct NG_API ImageShape {
  std::int64_t channels = 1, height = 28, width = 28;
};
// Built-in networks for images. Throws ModelError for a name that model_names() does not have and
// for images smaller than 8x8.
NG_API std::vector<std::string> model_names();
NG_API BuildNetwork find_model(std::string_view name, ImageShape image, std::int64_t classes);

// A loss takes the prediction, makes the input "labels" it needs, and returns a scalar f32.
using Loss = std::function<Value(Network& network, Value prediction)>;
// Logits [N, classes], labels i64 [N].
NG_API Loss softmax_cross_entropy();
// Mean of the squared differences; labels f32 of the prediction's shape.
NG_API Loss mean_squared_error();
// Logits of any shape, labels f32 of the same shape in [0, 1]; stable for large logits.
NG_API Loss binary_cross_entropy();

}  // namespace narrowgauge
