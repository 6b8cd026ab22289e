// SPDX-License-Identifier: Apache-2.0
// Builds the graph of a network layer by layer: each call adds an op with its parameters, which are
// named after it ("conv1.weight") and initialised as is usual for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/graph.h"
#include "narrowgauge/losses.h"

namespace narrowgauge {

// train: batch statistics, dropout. evaluate: running statistics. The states are the same.
enum class Mode : std::uint8_t { train, evaluate };

// Options of a convolution; one number serves both spatial axes.
struct ConvOptions {
  std::int64_t kernel = 3, stride = 1, dilation = 1, groups = 1;  // pixels; groups of channels
  std::int64_t padding = -1;  // -1: (dilation * (kernel - 1)) / 2 on each side, "same" at stride 1
  bool bias = true;           // one number added to each channel
};

// Options of a transposed convolution; one number serves both spatial axes.
struct ConvTransposeOptions {
  std::int64_t kernel = 2, stride = 1, dilation = 1, groups = 1;  // pixels; groups of channels
  std::int64_t padding = 0;                                       // cut off on each side, in pixels
  std::int64_t output_padding = 0;  // added at the end of each axis, below stride or dilation
  bool bias = true;                 // one number added to each channel
};

// Options of a recurrent layer.
struct RecurrentOptions {
  std::int64_t layers = 1;     // one after another, each over the outputs of the one before
  bool bidirectional = false;  // also from the last step to the first; outputs stand side by side
  double dropout = 0;          // of the outputs of all layers but the last
  bool bias = true;            // of the gates
};

// Options of a rotary embedding.
struct RotaryOptions {
  std::int64_t heads = 1;    // divide the width into parts of even size
  double base = 10000;       // the longest wavelength is near 2 pi base positions
  bool interleaved = false;  // pairs are neighbours, else half a head apart
};

// Options of a pool; one number serves both spatial axes.
struct PoolOptions {
  std::int64_t kernel = 2;   // in pixels
  std::int64_t stride = 0;   // 0: the kernel
  std::int64_t padding = 0;  // on each side
};

// The mask, absent or of a shape that broadcasts to [N, heads, T, S], is added to the scores.
struct AttentionOptions {
  std::int64_t heads = 1;  // divide the width
  double dropout = 0;      // of the probabilities
  Value mask{};            // f32; absent: nothing is added
  bool causal = false;     // a token sees itself and those before it
};

// How the weights of convolutions begin.
enum class ConvInitial : std::uint8_t {
  he_fan_in,   // normal, variance 2 / (inputs of a group * kernel^2): He et al. 2015; bias 0
  he_fan_out,  // normal, variance 2 / (channels * kernel^2); bias 0
  uniform      // weights and bias in +-1/sqrt(inputs of a group * kernel^2)
};

// The initial values of the parameters of layers.
struct Initials {
  ConvInitial conv = ConvInitial::he_fan_in;              // of convolutions
  std::optional<Initial> linear_weight{}, linear_bias{};  // nothing: uniform in +-1/sqrt(features)
  Initial embedding = Initial::normal(0, 1);              // of tables
};

// Which variance of a batch the running variance of batch_norm() takes, for n elements a channel.
enum class RunningVariance : std::uint8_t {
  biased,   // divided by n, as in ONNX
  unbiased  // divided by n - 1, as in PyTorch; 0 for n = 1, which PyTorch refuses
};

// What Network::autocast() asks for.
struct AutocastOptions {
  DType dtype = DType::bf16;  // f16 or bf16
  bool enabled = true;        // false: the nodes stay in f32, whatever policy the training has
};

class Network;

// While it lives, nodes are added to a network in its format. See Network::autocast().
class NG_API AutocastScope {
 public:
  ~AutocastScope();  // nodes are added as before it
  AutocastScope(const AutocastScope&) = delete;

 private:
  friend class Network;
  AutocastScope(Graph& graph, DType dtype);
  Graph& graph_;
  std::optional<DType> before_;
};

// Layers take their inputs and return their output. An empty name becomes the kind of the layer and
// a number. Errors are UsageError and name the layer.
class NG_API Network {
 public:
  Network(std::string name, Mode mode) : graph_(std::move(name)), mode_(mode) {}  // without layers

  Mode mode() const { return mode_; }             // training or evaluation
  Graph& graph() { return graph_; }               // what is built
  Dim batch() const { return Dim::symbol("N"); }  // the symbol N
  const Shape& shape(Value value) const { return graph_.type(value).shape; }  // of a layer's output

  // An input of f32, or of another dtype; the shape's first dimension is usually batch().
  Value input(const std::string& name, Shape shape, DType dtype = DType::f32);
  // A trained parameter, f32.
  Value parameter(const std::string& name, Dims dims, Initial initial);

  // Sets how parameters begin in the layers made from now on.
  void set_initials(Initials initials) { initials_ = std::move(initials); }
  // Chooses which variance of a batch the running variance takes, in the layers of batch_norm()
  // that are added from now on; biased unless this is called.
  void set_running_variance(RunningVariance variance) { running_variance_ = variance; }

  // Nodes that are added while the result lives compute as under PyTorch's autocast, forward and
  // backward: products in the narrow format, what needs f32's range or precision in f32, and all
  // else in the widest format that it reads. Scopes nest; the innermost counts. It decides before
  // the policy of the optimizer's PrecisionRequest, which decides on nodes outside of any scope;
  // an override by the name of a node decides before both. Throws UsageError for formats other than
  // f16 and bf16.
  //
  //   auto narrow = net.autocast(DType::bf16);
  //   x = net.linear(x, 512);
  //   { auto exact = net.autocast({.enabled = false}); x = net.layer_norm(x); }
  [[nodiscard]] AutocastScope autocast(DType dtype);
  [[nodiscard]] AutocastScope autocast(AutocastOptions options);  // see above

  // Convolution of images [N, C, H, W].
  Value conv(Value x, std::int64_t channels, ConvOptions options = {}, std::string name = "");
  // The gradient of a convolution by its images, as a layer: [N, C, H, W] -> [N, channels, ...] of
  // size (H - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1. Weights [C,
  // channels / groups, kernel, kernel] and bias begin as PyTorch's ConvTranspose2d.
  Value conv_transpose(Value x, std::int64_t channels, ConvTransposeOptions options = {},
                       std::string name = "");
  // [..., features] -> [..., units], of rank 2 or more; weights [units, features].
  Value linear(Value x, std::int64_t units, std::string name = "");
  // Normalizes each channel (axis 1), epsilon 1e-5, running averages with momentum 0.9, of the
  // variance as set_running_variance() says.
  Value batch_norm(Value x, std::string name = "");
  // Normalizes over the last axis.
  Value layer_norm(Value x, std::string name = "", double epsilon = 1e-5);
  // Normalizes each of `groups` equal parts of the channels (axis 1) of each example (Wu, He 2018).
  Value group_norm(Value x, std::int64_t groups, std::string name = "", double epsilon = 1e-5);
  // x / sqrt(mean(x^2) + epsilon) times a weight, over the last axis (Zhang, Sennrich 2019); the
  // usual epsilon is f32's 2^-23, as in PyTorch.
  Value rms_norm(Value x, std::string name = "", double epsilon = 0x1p-23);
  // Long short-term memory (Hochreiter, Schmidhuber 1997): [N, T, features] -> [N, T, hidden], or
  // [N, T, 2 hidden] where bidirectional. Parameters are named, shaped and begun as those of
  // PyTorch's LSTM: weight_ih_l0 [4 hidden, features], weight_hh_l0, bias_ih_l0, bias_hh_l0, then
  // the same with _reverse, and l1, ... for more layers.
  Value lstm(Value x, std::int64_t hidden, const RecurrentOptions& options = {},
             std::string name = "");
  // Gated recurrent unit (Cho et al. 2014), as lstm() with 3 hidden rows and as PyTorch's GRU: the
  // reset gate acts on the product with the state.
  Value gru(Value x, std::int64_t hidden, const RecurrentOptions& options = {},
            std::string name = "");
  // Turns pairs of elements of [N, T, width] by angles that grow with their position (Su et al.
  // 2021), in each head. T must be known. Has no parameters.
  Value rotary_embedding(Value x, const RotaryOptions& options = {}, std::string name = "");
  // Looks up i64 indices [...] from 0 to below `count` in a table: -> [..., width]. Whoever runs
  // the network with another index gets a DataError.
  Value embedding(Value indices, std::int64_t count, std::int64_t width, std::string name = "");
  // Attention by several heads (Vaswani et al. 2017): query [N, T, width], key and value
  // [N, S, width] -> [N, T, width]; scores are scaled by 1/sqrt(width / heads). Has no parameters.
  Value attention(Value query, Value key, Value value, const AttentionOptions& options,
                  std::string name = "attention");
  // Attention with projections, as PyTorch's MultiheadAttention: query [N, T, width] looks at
  // memory [N, S, ...], and at itself where they are one value. -> [N, T, width]. Parameters:
  // in_proj_weight [3 width, width], or q_proj_weight, k_proj_weight and v_proj_weight where memory
  // has another width; in_proj_bias [3 width]; out_proj.weight and out_proj.bias.
  Value cross_attention(Value query, Value memory, const AttentionOptions& options,
                        std::string name = "");
  // Zeroes a share `ratio` of the elements in training and scales the others up.
  Value dropout(Value x, double ratio, std::string name = "");
  Value relu(Value x);                                    // max(x, 0)
  Value relu6(Value x);                                   // min(max(x, 0), 6)
  Value gelu(Value x);                                    // exact, with the error function
  Value sigmoid(Value x);                                 // 1 / (1 + exp(-x))
  Value tanh(Value x);                                    // hyperbolic tangent
  Value add(Value a, Value b);                            // shapes broadcast as in ONNX
  Value max_pool(Value x, PoolOptions options = {});      // over [N, C, H, W]
  Value average_pool(Value x, PoolOptions options = {});  // the same; padding does not count
  Value global_average_pool(Value x);                     // [N, C, H, W] -> [N, C]
  Value flatten(Value x);                                 // [N, ...] -> [N, rest]
  // Another shape with as many elements.
  Value reshape(Value x, Shape shape, std::string name = "");
  // Repeats along axes of size 1.
  Value expand(Value x, Shape shape, std::string name = "");
  // Puts values one after another along an axis.
  Value concat(Values parts, std::int64_t axis, std::string name = "");
  // Elements from `begin` to before `end` of an axis.
  Value slice(Value x, std::int64_t axis, std::int64_t begin, std::int64_t end,
              std::string name = "");

  // x + body(x).
  Value residual(Value x, const std::function<Value(Value)>& body);
  // Each layer over the output of the one before.
  Value sequential(Value x, const std::vector<std::function<Value(Value)>>& layers);

  // Layers of `body`, which need names, use the parameters of layers that were made in shared()
  // under the same names: a network that looks at two inputs, or a discriminator at real and
  // made-up ones. Running averages advance with each use. Throws UsageError where shapes differ.
  Value shared(const std::function<Value()>& body);

  // The gradients of a scalar with respect to values of the network, for losses that depend on them
  // (a gradient penalty: Gulrajani et al. 2017). Zeros where the scalar does not depend on a value.
  // Throws ModelError naming an op without a gradient.
  Values gradients(Value scalar, const Values& of);

  // A built-in op by name, with attributes as text: op("ReduceMean", {x}, "keepdims=0"). Names and
  // attributes are ONNX's. Throws ModelError for an unknown op or attribute.
  Value op(std::string_view op_name, Values inputs, std::string_view attributes = "");

  // Any op as a struct, including the program's own. A name that is taken gets a number.
  template <Op T>
  Value apply(T op, Values inputs, std::string name = "") {
    return graph_.add(std::move(op), std::move(inputs), {.name = scoped(name)});
  }

  // Names an output of the network, beside what its builder returns: a Model gives it out, and a
  // loss may be taken of it. Throws UsageError for a name that is taken.
  void output(std::string name, Value value);
  const std::vector<GraphOutput>& outputs() const { return outputs_; }  // in the order of output()
  // Throws UsageError naming the outputs that there are.
  Value find_output(std::string_view name) const;

  // Names of layers made inside `body` start with "name.".
  Value scope(const std::string& name, const std::function<Value()>& body);

 private:
  std::string scoped(const std::string& name) const {
    return name.empty() ? name : graph_.unique_name(prefix_ + name);
  }
  std::string layer_name(const std::string& given, const char* kind);
  Value statistic(const std::string& name, Dims dims, double initial);
  // The name of a state of a layer, which is another layer's where it is shared.
  std::string state_name(const std::string& name) const;
  Value add_state(State state);  // the one there is where it is shared

  Graph graph_;
  Mode mode_;
  std::vector<GraphOutput> outputs_;
  Initials initials_;
  RunningVariance running_variance_ = RunningVariance::biased;
  std::string prefix_;
  bool sharing_ = false;
  std::map<std::string, std::string> shared_names_;  // of layers in shared(); "": has no name
};

// Makes the network's inputs and layers and returns the prediction, which is the only output of a
// network that names none.
using BuildNetwork = std::function<Value(Network&)>;

}  // namespace narrowgauge
