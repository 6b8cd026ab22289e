// SPDX-License-Identifier: Apache-2.0
// A LayerNormalization of a residual sum, with the Dropout of one term; and its gradient, with the
// sums that it reads and the gradient of that Dropout.
#include "kernels/cpu/normalization/layer_norm.h"

#include <algorithm>
#include <optional>

#include "groups/group.h"
#include "ir/reason.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/dropout.h"
#include "ops/nn/layer_normalization.h"
#include "ops/shape/axis.h"

namespace narrowgauge {

namespace {

// Whether a node adds two tensors of the result's shape.
bool is_plain_sum(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](Value input) {
    return graph.type(input).shape == node.outputs[0].type.shape;
  });
}

struct LayerNorm {
  static constexpr std::string_view name = "layer norm";
  struct Pattern : GroupPattern {
    Part dropout = maybe<Dropout>();
    Part sum = one<Add>({reads(either, {dropout, outside})});
    Part norm = anchor<LayerNormalization>({shared(0, {sum})});
    Pattern() { where(sum, is_plain_sum); }
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

constexpr std::size_t most_sums = 3;

struct LayerNormGradient {
  static constexpr std::string_view name = "layer norm gradient";
  struct Pattern : GroupPattern {
    Part sums = sum_of<Add>(most_sums);
    Part norm = anchor<LayerNormalizationGradient>({reads(0, {sums, outside})});
    Part dropout = maybe<DropoutGradient>({shared(0, {norm})});
    Pattern() { where(sums, is_plain_sum); }
  };
  static Offer offer(const GroupRequest& group, const Pattern& parts);
};

// The share of elements that a Dropout or its gradient keeps; its settings begin at input `first`.
// Nothing if they are not constant or not for training.
std::optional<float> constant_keep(const GroupMatch& match, Part part, std::size_t first) {
  const Values& inputs = match.node(part).inputs;
  const Tensor* training = match.constant(part, first + 1);
  if (inputs.size() != first + 2 || !training || training->at(0) == 0) return {};
  const Tensor* ratio = match.constant(part, first);
  if (!inputs[first].is_absent() && !ratio) return {};
  return static_cast<float>(1 - (ratio ? ratio->at(0) : 0.5));
}

// Finds operands by their index, in a request and in a call.
class Operands {
 public:
  explicit Operands(const Request& request)
      : inputs_(request.inputs.begin(), request.inputs.end()),
        outputs_(request.outputs.begin(), request.outputs.end()) {}

  const Operand& input(int i) const { return inputs_[static_cast<std::size_t>(i)]; }
  const Operand& output(int o) const { return outputs_[static_cast<std::size_t>(o)]; }

  // Requires all to be dense and floating with up to 32 bits, except the mask.
  std::string reason() const {
    for (const auto* operands : {&inputs_, &outputs_})
      for (const Operand& operand : *operands) {
        if (!operand.present) continue;
        const DType dtype = operand.dtype;
        const bool floating = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
        if (!floating && dtype != DType::boolean) return concat("dtype ", dtype);
        if (!is_dense(operand)) return "elements do not lie in their logical order";
        if (element_count(operand.dims) == 0) return "no elements";
      }
    return {};
  }

  cpu::ConstArray in(const KernelCall& call, int i) const {
    return i < 0 ? cpu::ConstArray{} : cpu::ConstArray{data_at(call.inputs, i), input(i).dtype};
  }
  cpu::Array out(const KernelCall& call, int o) const {
    if (o < 0) return {};
    return {data_at(call.outputs, o), output(o).dtype, 0,
            call.flushed_at(static_cast<std::size_t>(o))};
  }
  template <class T>
  static T* output_data(const KernelCall& call, int o) {
    return static_cast<T*>(data_at(call.outputs, o));
  }
  // Lets an output use the memory of an input of its type.
  void offer_place(int from, int to, Offer& offer) const {
    if (from >= 0 && to >= 0 && input(from).dtype == output(to).dtype)
      offer.in_place.push_back({from, to});
  }

 private:
  std::vector<Operand> inputs_, outputs_;
};

// Rows of the last axis; nothing if another axis is normalized or rows are too long.
std::optional<cpu::RowLayout> rows_of(const Dims& dims, std::int64_t axis) {
  if (dims.empty() || settled_axis("LayerNormalization", axis, dims.size()) + 1 !=
                          static_cast<std::int64_t>(dims.size()))
    return {};
  if (dims.back() > cpu::most_residual_columns) return {};
  return cpu::RowLayout{element_count(dims) / std::max<std::int64_t>(1, dims.back()), dims.back()};
}

// Indices of operands; -1: none.
struct Forward {
  int x, other, scale, bias;
  int y, mean, inverse_std, sum, kept = -1;
  float epsilon;
  float keep = 1;
  std::int64_t seed = -1;
  std::string dropout;  // the name of the node
};

Forward forward_of(const GroupMatch& match, const LayerNorm::Pattern& parts, float keep) {
  Forward at{.x = match.input(parts.sum, 0),
             .other = match.other(parts.sum),
             .scale = match.input(parts.norm, 1),
             .bias = match.input(parts.norm, 2),
             .y = match.output(parts.norm, 0),
             .mean = match.output(parts.norm, 1),
             .inverse_std = match.output(parts.norm, 2),
             .sum = match.output(parts.sum),
             .epsilon = static_cast<float>(match.as<LayerNormalization>(parts.norm).epsilon),
             .keep = keep,
             .dropout = {}};
  if (!match.has(parts.dropout)) return at;
  at.x = match.input(parts.dropout, 0);
  at.kept = match.output(parts.dropout, 1);
  at.seed = match.as<Dropout>(parts.dropout).seed;
  at.dropout = match.node(parts.dropout).name;
  return at;
}

void normalize(const Forward& at, const cpu::RowLayout& layout, const Operands& operands,
               const KernelCall& call) {
  cpu::ResidualSum residual;
  residual.other = operands.in(call, at.other);
  residual.sum = operands.out(call, at.sum);
  residual.keep = at.keep;
  residual.kept = Operands::output_data<bool>(call, at.kept);
  const std::uint64_t seed = at.seed < 0 ? call.context.seed : static_cast<std::uint64_t>(at.seed);
  residual.stream = RandomStream(seed, at.dropout, call.context.step);
  cpu::LayerNormForward norm;
  norm.layout = layout;
  norm.x = operands.in(call, at.x);
  norm.y = operands.out(call, at.y);
  norm.scale = operands.in(call, at.scale);
  norm.bias = operands.in(call, at.bias);
  norm.epsilon = at.epsilon;
  norm.mean = Operands::output_data<float>(call, at.mean);
  norm.inverse_std = Operands::output_data<float>(call, at.inverse_std);
  norm.residual = &residual;
  layer_norm_forward(norm, call.workspace);
}

Offer LayerNorm::offer(const GroupRequest& group, const Pattern& parts) {
  const GroupMatch& match = group.match;
  const bool drops = match.has(parts.dropout);
  const std::optional<float> keep = drops ? constant_keep(match, parts.dropout, 1) : 1;
  const Operands operands(group.request);
  const Forward at = forward_of(match, parts, keep.value_or(1));
  std::optional<cpu::RowLayout> layout;
  const Values& inputs = match.node(parts.norm).inputs;
  const bool biased = inputs.size() > 2 && !inputs[2].is_absent();
  std::string reason = first_reason(
      [&] { return unless(keep.has_value(), "a dropout that is not constant"); },
      [&] {
        const bool known = at.x >= 0 && at.other >= 0 && at.scale >= 0 && (!biased || at.bias >= 0);
        return unless(known, "a normalization of constants");
      },
      [&] { return unless(at.y >= 0 && operands.output(at.y).present, "nobody reads y"); },
      [&] { return operands.reason(); },
      [&] {
        layout = rows_of(operands.input(at.x).dims, match.as<LayerNormalization>(parts.norm).axis);
        return unless(layout.has_value(), "not rows of the last axis");
      },
      [&] {
        return unless(operands.input(at.other).dims == operands.input(at.x).dims,
                      "terms are broadcast");
      });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  Offer offer;
  offer.implementation = "sum and rows, f32 statistics";
  offer.workspace = cpu::layer_norm_workspace(*layout);
  operands.offer_place(at.x, at.y, offer);
  operands.offer_place(at.other, at.sum, offer);
  offer.run = [at, layout = *layout, operands](const KernelCall& call) {
    normalize(at, layout, operands, call);
  };
  return offer;
}

// Indices of operands; -1: none.
struct Backward {
  std::vector<int> dy;  // to be added up
  int x, scale, mean, inverse_std, mask = -1;
  int dx, dscale, dbias, dropped = -1;
  float keep;
};

Backward backward_of(const GroupMatch& match, const LayerNormGradient::Pattern& parts, float keep) {
  const auto in = [&](std::size_t port) { return match.input(parts.norm, port); };
  const auto out = [&](int port) { return match.output(parts.norm, port); };
  Backward at{.dy = match.terms(parts.sums, parts.norm, 0),
              .x = in(1),
              .scale = in(2),
              .mean = in(3),
              .inverse_std = in(4),
              .dx = out(0),
              .dscale = out(1),
              .dbias = out(2),
              .keep = keep};
  if (!match.has(parts.dropout)) return at;
  at.mask = match.input(parts.dropout, 1);
  at.dropped = match.output(parts.dropout);
  return at;
}

void propagate(const Backward& at, const cpu::RowLayout& layout, const Operands& operands,
               const KernelCall& call) {
  cpu::ResidualGradient residual;
  for (std::size_t i = 1; i < at.dy.size(); ++i) residual.more[i - 1] = operands.in(call, at.dy[i]);
  residual.dropped = operands.out(call, at.dropped);
  residual.kept = static_cast<const bool*>(operands.in(call, at.mask).data);
  residual.factor = 1 / at.keep;
  cpu::LayerNormBackward norm;
  norm.layout = layout;
  norm.dy = operands.in(call, at.dy[0]);
  norm.x = operands.in(call, at.x);
  norm.scale = operands.in(call, at.scale);
  norm.mean = static_cast<const float*>(operands.in(call, at.mean).data);
  norm.inverse_std = static_cast<const float*>(operands.in(call, at.inverse_std).data);
  norm.dx = operands.out(call, at.dx);
  norm.scale_gradient = operands.out(call, at.dscale);
  norm.bias_gradient = operands.out(call, at.dbias);
  norm.residual = &residual;
  layer_norm_backward(norm, call.workspace);
}

// Why the operands of a gradient do not fit; "" if they do.
std::string gradient_reason(const Operands& operands, const Backward& at) {
  const auto known = [](int index) { return index >= 0; };
  return first_reason(
      [&] {
        const bool all = std::all_of(at.dy.begin(), at.dy.end(), known) && known(at.x) &&
                         known(at.scale) && known(at.mean) && known(at.inverse_std);
        return unless(all, "a normalization of constants");
      },
      [&] { return operands.reason(); },
      [&] {
        const bool same = std::all_of(at.dy.begin(), at.dy.end(), [&](int term) {
          return operands.input(term).dims == operands.input(at.x).dims;
        });
        return unless(same, "terms are broadcast");
      },
      [&] {
        return unless(operands.input(at.mean).dtype == DType::f32 &&
                          operands.input(at.inverse_std).dtype == DType::f32,
                      "statistics not of f32");
      });
}

Offer LayerNormGradient::offer(const GroupRequest& group, const Pattern& parts) {
  const GroupMatch& match = group.match;
  const bool drops = match.has(parts.dropout);
  const std::optional<float> keep = drops ? constant_keep(match, parts.dropout, 2) : 1;
  const Operands operands(group.request);
  const Backward at = backward_of(match, parts, keep.value_or(1));
  std::optional<cpu::RowLayout> layout;
  std::string reason = first_reason(
      [&] { return unless(keep.has_value(), "a dropout that is not constant"); },
      [&] { return unless(!drops || (at.mask >= 0 && at.dropped >= 0), "a dropout of constants"); },
      [&] { return gradient_reason(operands, at); },
      [&] {
        layout = rows_of(operands.input(at.x).dims,
                         match.as<LayerNormalizationGradient>(parts.norm).axis);
        return unless(layout.has_value(), "not rows of the last axis");
      });
  if (!reason.empty()) return Offer::decline(std::move(reason));
  Offer offer;
  offer.implementation = "sum and rows, f32 statistics";
  offer.workspace = cpu::layer_norm_backward_workspace(*layout);
  operands.offer_place(at.dy[0], at.dx, offer);
  offer.run = [at, layout = *layout, operands](const KernelCall& call) {
    propagate(at, layout, operands, call);
  };
  return offer;
}

}  // namespace

}  // namespace narrowgauge

NG_GROUP(layer_norm, narrowgauge::LayerNorm, narrowgauge::LayerNormGradient)
