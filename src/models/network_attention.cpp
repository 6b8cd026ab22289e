// SPDX-License-Identifier: Apache-2.0
// Attention with its projections, and positions by rotation.
#include <cmath>

#include "models/layer_input.h"
#include "narrowgauge/network.h"
#include "ops/math/matmul.h"
#include "ops/nn/rotary_embedding.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/shape/concat.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

namespace {

// Glorot, Bengio 2010, for a matrix [outputs, inputs].
Initial glorot_uniform(std::int64_t outputs, std::int64_t inputs) {
  const double bound = std::sqrt(6 / static_cast<double>(outputs + inputs));
  return Initial::uniform(-bound, bound);
}

// Cosines and sines f32 [steps, pairs] of the angles position * base^(-pair / pairs).
std::pair<Tensor, Tensor> turns(std::int64_t steps, std::int64_t pairs, double base) {
  Tensor cosines(DType::f32, {steps, pairs}), sines(DType::f32, {steps, pairs});
  for (std::int64_t i = 0; i < cosines.size(); ++i) {
    const double share = static_cast<double>(i % pairs) / static_cast<double>(pairs);
    const double angle = static_cast<double>(i / pairs) * std::pow(base, -share);
    cosines.set(i, std::cos(angle));
    sines.set(i, std::sin(angle));
  }
  return {std::move(cosines), std::move(sines)};
}

// The weights of query, key and value, each [width, inputs].
Values projection_weights(Network& net, const std::string& name, std::int64_t width,
                          std::int64_t of_memory) {
  if (width == of_memory) {
    const Initial begin = glorot_uniform(3 * width, width);
    const Value all = net.parameter(name + ".in_proj_weight", {3 * width, width}, begin);
    const Value first = net.graph().add(ConcatGradient{0, Shape(3, Dim(width))}, {all});
    return {first, {first.node, 1}, {first.node, 2}};
  }
  const auto weight = [&](const char* end, std::int64_t inputs) {
    return net.parameter(name + end, {width, inputs}, glorot_uniform(width, inputs));
  };
  const Value q = weight(".q_proj_weight", width), k = weight(".k_proj_weight", of_memory);
  return {q, k, weight(".v_proj_weight", of_memory)};
}

}  // namespace

Value Network::rotary_embedding(Value x, const RotaryOptions& options, std::string given) {
  require_input(*this, x, "rotary_embedding", given);
  const Shape from = shape(x);
  require(from.size() == 3 && from[1].is_known() && from[2].is_known(),
          "rotary_embedding: expected [N,T,width] with known T and width, got ", graph_.type(x));
  const std::int64_t width = from[2].value();
  require(options.heads >= 1 && options.heads <= width / 2 && width % (2 * options.heads) == 0,
          "rotary_embedding: expected heads that divide the width ", width,
          " into even parts, got ", options.heads);
  require(options.base > 0 && std::isfinite(options.base),
          "rotary_embedding: expected a base above 0, got ", options.base);
  const std::int64_t steps = from[1].value(), pairs = width / options.heads / 2;
  const auto [cosines, sines] = turns(steps, pairs, options.base);
  const auto for_each_example = [&](const Tensor& table) {
    return graph_.add(ExpandTo{{from[0], steps, pairs}}, {graph_.constant(table)});
  };
  RotaryEmbedding op;
  op.interleaved = options.interleaved ? 1 : 0;
  op.num_heads = options.heads;
  return graph_.add(op, {x, for_each_example(cosines), for_each_example(sines)},
                    {.name = layer_name(given, "rotary")});
}

Value Network::cross_attention(Value query, Value memory, const AttentionOptions& options,
                               std::string given) {
  for (const Value x : {query, memory}) require_input(*this, x, "cross_attention", given);
  for (const Value x : {query, memory})
    require(shape(x).size() == 3 && shape(x)[2].is_known(),
            "cross_attention: expected query and memory [N,T,width] with known widths, got ",
            graph_.type(x));
  const std::string name = layer_name(given, "crossattention");
  const std::int64_t width = shape(query)[2].value();
  const Values weights = projection_weights(*this, name, width, shape(memory)[2].value());
  const Value bias = parameter(name + ".in_proj_bias", {3 * width}, Initial::constant(0));
  const Value biases = graph_.add(ConcatGradient{0, Shape(3, Dim(width))}, {bias});
  const auto project = [&](Value x, int which) {
    const Value product =
        graph_.add(FusedMatMul{false, true}, {x, weights[static_cast<std::size_t>(which)]});
    return graph_.add(Add{}, {product, Value{biases.node, which}});
  };
  const Value q = project(query, 0), k = project(memory, 1), v = project(memory, 2);
  const std::string inside = name.substr(prefix_.size());
  const Value seen = attention(q, k, v, options, inside);
  return scope(inside, [&] {
    const std::optional<Initial> usual = initials_.linear_bias;
    initials_.linear_bias = usual.value_or(Initial::constant(0));
    const Value y = linear(seen, width, "out_proj");
    initials_.linear_bias = usual;
    return y;
  });
}

Value Network::residual(Value x, const std::function<Value(Value)>& body) {
  require_function(body, "residual", "body");
  require_input(*this, x, "residual");
  const Value y = body(x);
  require_input(*this, y, "residual");
  require(shape(y) == shape(x), "residual: expected a body that gives ", graph_.type(x), ", got ",
          graph_.type(y));
  return add(x, y);
}

Value Network::sequential(Value x, const std::vector<std::function<Value(Value)>>& layers) {
  for (const auto& layer : layers) {
    require_function(layer, "sequential", "layer");
    x = layer(x);
  }
  return x;
}

}  // namespace narrowgauge
