// SPDX-License-Identifier: Apache-2.0
#include "passes/quantized/quantized_contraction.h"

#include "ops/activation/gelu.h"
#include "ops/activation/relu.h"
#include "ops/axes/axes.h"
#include "ops/convolution/conv.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/cast.h"
#include "ops/pointwise/in_dtype.h"
#include "ops/pointwise/min_max.h"
#include "ops/quantized/conv_integer.h"
#include "ops/quantized/matmul_integer.h"
#include "ops/quantized/quantized_conv.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

namespace {

bool is_convolution(const Node& node) { return node.is<Conv>() || node.is<ConvInteger>(); }

// The output channels are this axis of the result.
std::size_t channel_axis(const Node& node, const Shape& y) {
  return is_convolution(node) ? 1 : y.size() - 1;
}

class Finder {
 public:
  Finder(const Graph& graph, const Readers& readers, int index, const std::set<int>& taken)
      : graph_(graph), readers_(readers), node_(graph.node(index)), taken_(taken) {
    found_.members = {index};
  }

  std::optional<QuantizedContraction> find() {
    if (is_simulated(node_.math)) return {};
    const bool integer = node_.is<MatMulInteger>() || node_.is<ConvInteger>();
    if (integer ? !starts_with_sums() : !starts_with_values()) return {};
    end_ = {found_.members.back(), 0};
    follow();
    take_rounding();
    return std::move(found_);
  }

 private:
  const Shape& shape(Value value) const { return graph_.type(value).shape; }

  bool starts_with_values() {
    const bool gemm = node_.is<Gemm>();
    if (!node_.is<Conv>() && !node_.is<MatMul>() && !gemm) return false;
    int axis = -1;
    const auto x = dequantized(graph_, node_.inputs[0]);
    const auto w = dequantized(graph_, node_.inputs[1], &axis);
    if (!x || !w || !lasts(graph_, w->bytes)) return false;
    if (!w->zero.is_absent() && !lasts(graph_, w->zero)) return false;
    if (!node_.is<Conv>() && shape(w->bytes).size() != 2) return false;
    if (gemm && !is_plain(node_.as<Gemm>())) return false;
    if (axis >= 0 && axis != weight_axis()) return false;
    found_.x = *x;
    found_.w = *w;
    found_.bias = before_casts(input_or_absent(node_, 2));
    return found_.bias.is_absent() ||
           (is_floating(graph_.type(found_.bias).dtype) && is_bias(found_.bias));
  }

  static bool is_plain(const Gemm& op) { return op.alpha == 1 && op.beta == 1 && op.transA == 0; }

  int weight_axis() const {
    if (node_.is<Conv>()) return 0;
    return node_.is<Gemm>() && node_.as<Gemm>().transB != 0 ? 0 : 1;
  }

  Value before_casts(Value value) const {
    return value.is_absent() ? value : before_float_casts(graph_, value);
  }

  // MatMulInteger or ConvInteger, a Cast, and a Mul by a scale.
  bool starts_with_sums() {
    const Value w = node_.inputs[1], w_zero = input_or_absent(node_, 3),
                x_zero = input_or_absent(node_, 2);
    if (!lasts(graph_, w) || (!w_zero.is_absent() && !lasts(graph_, w_zero))) return false;
    if (node_.is<MatMulInteger>() && shape(w).size() != 2) return false;
    if (!x_zero.is_absent() && !is_one(shape(x_zero))) return false;
    if (!w_zero.is_absent() && !is_one(shape(w_zero)) && shape(w_zero).size() != 1) return false;
    const int cast = readers_.only({found_.members[0], 0});
    if (cast < 0 || !graph_.node(cast).is<Cast>() || graph_.node(cast).as<Cast>().to != DType::f32)
      return false;
    const int scaled = readers_.only({cast, 0});
    if (scaled < 0 || !graph_.node(scaled).is<Mul>()) return false;
    const Values& factors = graph_.node(scaled).inputs;
    const Value factor = factors[factors[0] == Value{cast, 0} ? 1 : 0];
    if (!scales_columns(factor) || graph_.type({scaled, 0}).shape != graph_.type({cast, 0}).shape)
      return false;
    found_.members = {found_.members[0], cast, scaled};
    found_.x = {node_.inputs[0], absent, x_zero};
    found_.w = {w, absent, w_zero};
    found_.factor = factor;
    return true;
  }

  // Whether a value is f32: one number, or a list with one for each column of a product.
  bool scales_columns(Value value) const {
    if (graph_.type(value).dtype != DType::f32) return false;
    if (is_one(shape(value))) return shape(value).size() <= shape({found_.members[0], 0}).size();
    return node_.is<MatMulInteger>() && shape(value).size() == 1;
  }

  // Whether adding the value adds a number to each channel.
  bool is_bias(Value value) const {
    const Shape &y = shape({found_.members[0], 0}), &b = shape(value);
    const std::size_t axis = channel_axis(node_, y);
    if (node_.is<Conv>() && found_.members.size() == 1 && found_.bias == value) return true;
    if (b.size() > y.size()) return false;
    for (std::size_t i = 0; i < b.size(); ++i) {
      const std::size_t at = y.size() - b.size() + i;
      if (b[i] != (at == axis ? y[axis] : Dim(1))) return false;
    }
    return b.size() >= y.size() - axis;
  }

  void follow() {
    while (step()) {
    }
  }

  // Takes the cast of a result that is only read in bf16.
  void take_rounding() {
    const int next = readers_.only(end_);
    if (found_.y || found_.residual || !found_.added.is_absent() || next < 0) return;
    if (graph_.node(next).is<Cast>() && graph_.node(next).as<Cast>().to == DType::bf16 &&
        !taken_.contains(next))
      found_.members.push_back(next);
  }

  // Takes the only reader of the last member, if it can be a member.
  bool step() {
    const int next = readers_.only(end_);
    if (next < 0 || taken_.contains(next)) return false;
    const Node& node = graph_.node(next);
    const bool joins = joins_cast(node) || joins_sum(node) || joins_bound(node) ||
                       joins_gelu(next) || joins_end(node);
    if (!joins) return false;
    found_.members.push_back(next);
    end_ = {next, 0};
    return !found_.y;
  }

  // Casts are only passed where something behind them joins.
  bool joins_cast(const Node& node) const {
    const Value value{static_cast<int>(&node - graph_.nodes().data()), 0};
    if (before_float_casts(graph_, value) == value) return false;
    const int behind = readers_.only(value);
    return graph_.type(value).dtype == DType::f32 ||
           (behind >= 0 && before_float_casts(graph_, {behind, 0}) != Value{behind, 0});
  }

  bool joins_sum(const Node& node) {
    if (!node.is<Add>() || bounded_ || !found_.added.is_absent() || found_.residual) return false;
    const Value other = node.inputs[node.inputs[0] == end_ ? 1 : 0];
    if (other == end_ || node.outputs[0].type != graph_.type(end_)) return false;
    const Value plain = before_casts(other);
    if (found_.bias.is_absent() && lasts(graph_, other) && is_bias(other) &&
        is_floating(graph_.type(plain).dtype)) {
      found_.bias = plain;
      return true;
    }
    if (shape(other) != shape(end_)) return false;
    if (auto bytes = dequantized(graph_, other)) {
      found_.residual = bytes;
      return true;
    }
    if (graph_.type(other).dtype != DType::f32) return false;
    found_.added = other;
    return true;
  }

  std::optional<double> bound(const Node& clip, std::size_t input, double none) const {
    const Value value = input_or_absent(clip, input);
    if (value.is_absent()) return none;
    const Tensor* const known = graph_.constant_value(value);
    return known && known->size() == 1 ? std::optional(known->at(0)) : std::nullopt;
  }

  bool joins_bound(const Node& node) {
    if (bounded_) return false;
    if (node.is<Relu>()) {
      found_.low = 0;
    } else if (node.is<Clip>()) {
      const auto low = bound(node, 1, found_.low), high = bound(node, 2, found_.high);
      if (!low || !high || !(*low <= *high)) return false;
      found_.low = *low;
      found_.high = *high;
    } else {
      return false;
    }
    return bounded_ = true;
  }

  // Whether the node is a Gelu that joins: its result is quantised.
  bool joins_gelu(int index) {
    const Node& node = graph_.node(index);
    if (!node.is<Gelu>() || node.as<Gelu>().approximate != "none") return false;
    if (bounded_ || found_.residual || !found_.added.is_absent()) return false;
    int behind = readers_.only({index, 0});
    while (behind >= 0 && graph_.node(behind).is<Cast>()) behind = readers_.only({behind, 0});
    if (behind < 0 || !quantization(graph_, graph_.node(behind))) return false;
    return found_.gelu = bounded_ = true;
  }

  bool joins_end(const Node& node) {
    found_.y = quantization(graph_, node);
    return found_.y.has_value();
  }

  const Graph& graph_;
  const Readers& readers_;
  const Node& node_;
  const std::set<int>& taken_;
  QuantizedContraction found_;
  Value end_;
  bool bounded_ = false;
};

// The inputs of the op in the new graph.
class Inputs {
 public:
  Inputs(Rebuild& rebuild, const QuantizedContraction& found)
      : rebuild_(rebuild), graph_(rebuild.graph()), found_(found) {}

  Values all() {
    const QuantizedContraction& f = found_;
    const Value residual = f.residual ? f.residual->bytes : f.added;
    const QuantizedValue steps = f.residual.value_or(QuantizedValue{absent, absent, absent});
    const auto [x_scale, w_scale] = scales();
    return {mapped(f.x.bytes),
            mapped(f.w.bytes),
            x_scale,
            mapped(f.x.zero),
            w_scale,
            mapped(f.w.zero),
            bias(),
            mapped(residual),
            mapped(steps.scale),
            mapped(steps.zero),
            f.y ? mapped(f.y->scale) : absent,
            y_zero()};
  }

 private:
  Value mapped(Value value) const { return rebuild_.mapped(value); }
  Rewriting rewriting() { return {graph_, {}, {}}; }

  struct Scales {
    Value x, w;
  };
  Scales scales() {
    if (found_.factor.is_absent()) return {mapped(found_.x.scale), mapped(found_.w.scale)};
    return {rewriting().scalar(1, DType::f32), mapped(found_.factor)};
  }

  Value bias() {
    if (found_.bias.is_absent()) return absent;
    Rewriting made = rewriting();
    const Value bias = in_dtype(made, mapped(found_.bias), DType::f32);
    const Shape& shape = graph_.type(bias).shape;
    if (shape.size() == 1) return bias;
    return made.add(ReshapeTo{Shape{element_count(shape)}}, {bias});
  }

  Value y_zero() {
    if (!found_.y) return absent;
    if (!found_.y->zero.is_absent()) return mapped(found_.y->zero);
    const int last = found_.members.back();
    return rewriting().scalar(0, rebuild_.source().type({last, 0}).dtype);
  }

  Rebuild& rebuild_;
  Graph& graph_;
  const QuantizedContraction& found_;
};

}  // namespace

std::optional<QuantizedContraction> find_quantized(const Graph& graph, const Readers& readers,
                                                   int node, const std::set<int>& taken) {
  return Finder(graph, readers, node, taken).find();
}

void add_quantized(Rebuild& rebuild, const QuantizedContraction& found) {
  const Graph& from = rebuild.source();
  const Node &node = from.node(found.members.front()), &last = from.node(found.members.back());
  NodeOptions options = options_of(node);
  options.math = Math::none;
  options.storages.clear();
  if (options.origin.empty() && last.name != node.name) options.origin = last.full_name();
  const Values inputs = Inputs(rebuild, found).all();
  // The result has 16 bits where a precision plan says so.
  const bool plain = !found.y && !found.residual && found.added.is_absent();
  const DType given = last.outputs[0].type.dtype;
  const DType dtype = plain && given == DType::bf16 ? given : DType::f32;
  const auto convolution = [&](const auto& op) {
    return QuantizedConv{op.auto_pad, op.dilations, op.group,   op.kernel_shape, op.pads,
                         op.strides,  found.low,    found.high, found.gelu,      dtype};
  };
  const bool transposed = node.is<Gemm>() && node.as<Gemm>().transB != 0;
  Graph& graph = rebuild.graph();
  Value made;
  if (node.is<Conv>())
    made = graph.add(convolution(node.as<Conv>()), inputs, std::move(options));
  else if (node.is<ConvInteger>())
    made = graph.add(convolution(node.as<ConvInteger>()), inputs, std::move(options));
  else
    made = graph.add(QuantizedMatMul{transposed, found.low, found.high, found.gelu, dtype}, inputs,
                     std::move(options));
  Rewriting behind(graph, {}, {});
  rebuild.map({found.members.back(), 0}, in_dtype(behind, made, given));
}

}  // namespace narrowgauge
