// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized/move_quantization.h"

#include <algorithm>

#include "base/enumerate.h"
#include "ir/readers.h"
#include "ops/activation/relu.h"
#include "ops/index/depth_space.h"
#include "ops/index/expand.h"
#include "ops/index/gather.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/cast.h"
#include "ops/pool/max_pool.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/shape/concat.h"
#include "ops/shape/reshape.h"
#include "ops/shape/slice.h"
#include "ops/shape/transpose.h"
#include "ops/shape/views.h"
#include "passes/core/rebuild.h"
#include "passes/quantized/quantized_values.h"

namespace narrowgauge {

namespace {

// Whether the op gives values of its first input, and no others.
bool moves(const Node& node) {
  return node.is<Reshape>() || node.is<ReshapeTo>() || node.is<Flatten>() || node.is<Squeeze>() ||
         node.is<Unsqueeze>() || node.is<Identity>() || node.is<Transpose>() || node.is<Slice>() ||
         node.is<Gather>() || node.is<DepthToSpace>() || node.is<SpaceToDepth>() ||
         node.is<Expand>();
}

class Mover {
 public:
  explicit Mover(const Graph& graph)
      : graph_(graph), readers_(graph), rebuild_(graph), now_(rebuild_.graph()) {}

  Graph run() {
    for (const auto& [i, node] : enumerate(graph_.nodes()))
      if (!moved(i, node)) rebuild_.copy(i);
    return rebuild_.finish();
  }

 private:
  bool moved(int i, const Node& node) {
    if (node.is<QuantizeLinear>()) return quantized(i, node);
    if (node.is<Concat>()) return joined(i, node);
    if (node.is<Gather>() && rows_of_table(i, node)) return true;
    if (moves(node) || is_max_pool(i, node)) return behind(i, node);
    return false;
  }

  // The largest byte is that of the largest value only for a positive scale.
  bool is_max_pool(int i, const Node& node) const {
    if (!node.is<MaxPool>()) return false;
    for (const int output : {1, 2})
      if (!readers_.of({i, output}).empty() || readers_.leaves({i, output})) return false;
    const auto x = dequantized(now_, rebuild_.mapped(node.inputs[0]));
    const Tensor* const scale = x ? now_.constant_value(x->scale) : nullptr;
    return scale && scale->at(0) > 0;
  }

  NodeOptions options_beside(const Node& node) const {
    NodeOptions options = options_of(node);
    options.name = now_.unique_name(node.name + ".bytes");
    if (options.origin.empty()) options.origin = node.full_name();
    options.storages.clear();
    return options;
  }

  // The dequantised value takes the node's name.
  void dequantize(int i, Value bytes, const QuantizedValue& like) {
    const Node& node = graph_.node(i);
    const DType dtype = node.outputs[0].type.dtype;
    NodeOptions options = options_of(node);
    options.storages.clear();
    if (dtype != DType::f32) options.name = now_.unique_name(node.name + ".wide");
    Value made = rebuild_.graph().add(DequantizeLinear{}, {bytes, like.scale, like.zero}, options);
    options.name = node.name;
    if (dtype != DType::f32) made = rebuild_.graph().add(Cast{.to = dtype}, {made}, options);
    rebuild_.map({i, 0}, made);
  }

  static bool is_wide(const Node& node) {
    const DType dtype = node.outputs[0].type.dtype;
    return is_floating(dtype) && bits(dtype) >= 16 && dtype != DType::f64;
  }

  bool behind(int i, const Node& node) {
    if (!is_wide(node)) return false;
    Values inputs = rebuild_.mapped(node.inputs);
    const auto x = dequantized(now_, inputs[0]);
    if (!x) return false;
    inputs[0] = x->bytes;
    dequantize(i, rebuild_.graph().add(*node.op, node.attributes, inputs, options_beside(node)),
               *x);
    return true;
  }

  // Rows of a table that has a scale for each row: the rows and their scales.
  bool rows_of_table(int i, const Node& node) {
    int axis = -1;
    const Values inputs = rebuild_.mapped(node.inputs);
    const auto table = dequantized(now_, inputs[0], &axis);
    if (!table || axis != 0 || node.as<Gather>().axis != 0) return false;
    if (node.outputs[0].type.dtype != DType::f32 || zero_point(now_, table->zero) != 0)
      return false;
    Graph& graph = rebuild_.graph();
    const Value rows =
        graph.add(node.as<Gather>(), {table->bytes, inputs[1]}, options_beside(node));
    const Value scales =
        graph.add(node.as<Gather>(), {table->scale, inputs[1]}, options_beside(node));
    Shape columns = now_.type(scales).shape;
    columns.resize(now_.type(rows).shape.size(), 1);
    const Value column = graph.add(ReshapeTo{columns}, {scales}, options_beside(node));
    const Value wide = graph.add(Cast{.to = DType::f32}, {rows}, options_beside(node));
    rebuild_.map({i, 0}, graph.add(Mul{}, {wide, column}, options_of(node)));
    return true;
  }

  bool joined(int i, const Node& node) {
    if (!is_wide(node)) return false;
    Values parts;
    std::optional<QuantizedValue> first;
    for (const Value input : rebuild_.mapped(node.inputs)) {
      const auto part = dequantized(now_, input);
      if (!part || (first && !same_steps(*part, *first))) return false;
      if (!first) first = part;
      parts.push_back(part->bytes);
    }
    if (!first) return false;
    dequantize(i, rebuild_.graph().add(*node.op, node.attributes, parts, options_beside(node)),
               *first);
    return true;
  }

  bool same_steps(const QuantizedValue& a, const QuantizedValue& b) const {
    return a.scale == b.scale && a.zero == b.zero &&
           now_.type(a.bytes).dtype == now_.type(b.bytes).dtype;
  }

  // The bytes that a value dequantises if it has just these steps; absent if it does not.
  Value bytes_of(Value value, const QuantizedValue& steps, DType dtype) const {
    const auto known = dequantized(now_, value);
    const bool same = known && known->scale == steps.scale && known->zero == steps.zero &&
                      now_.type(known->bytes).dtype == dtype;
    return same ? known->bytes : absent;
  }

  bool is_least(Value zero, DType dtype) const {
    if (zero.is_absent()) return dtype == DType::u8;
    const Tensor* const value = now_.constant_value(zero);
    return value && value->at(0) == (dtype == DType::u8 ? 0 : -128);
  }

  bool quantized(int i, const Node& node) {
    auto steps = quantization(graph_, node);
    if (!steps) return false;
    const DType dtype = node.outputs[0].type.dtype;
    steps = QuantizedValue{rebuild_.mapped(steps->bytes), rebuild_.mapped(steps->scale),
                           rebuild_.mapped(steps->zero)};
    Value x = steps->bytes;
    const Tensor* const scale = now_.constant_value(steps->scale);
    while (now_.producer(x).is<Relu>() && scale && scale->at(0) > 0 && is_least(steps->zero, dtype))
      x = now_.producer(x).inputs[0];
    const Value known = bytes_of(x, *steps, dtype);
    if (!known.is_absent()) {
      rebuild_.map({i, 0}, known);
      return true;
    }
    if (before_concat(i, node, *steps)) return true;
    Values inputs = rebuild_.mapped(node.inputs);
    inputs[0] = x;
    rebuild_.copy(i, node.attributes, inputs);
    return true;
  }

  bool before_concat(int i, const Node& node, const QuantizedValue& steps) {
    const Node& concat = graph_.producer(node.inputs[0]);
    if (!concat.is<Concat>() || readers_.only(node.inputs[0]) != i) return false;
    const DType dtype = node.outputs[0].type.dtype;
    Values parts;
    for (const Value part : rebuild_.mapped(concat.inputs)) {
      const Value known = bytes_of(part, steps, dtype);
      parts.push_back(!known.is_absent() ? known
                                         : rebuild_.graph().add(*node.op, node.attributes,
                                                                {part, steps.scale, steps.zero},
                                                                options_beside(node)));
    }
    rebuild_.map({i, 0},
                 rebuild_.graph().add(*concat.op, concat.attributes, parts, options_of(node)));
    return true;
  }

  const Graph& graph_;
  const Readers readers_;
  Rebuild rebuild_;
  const Graph& now_;
};

}  // namespace

Graph move_quantization(const Graph& graph) { return Mover(graph).run(); }

}  // namespace narrowgauge
