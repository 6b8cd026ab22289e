// SPDX-License-Identifier: Apache-2.0
#include "ops/fused/fused_layer_norm.h"

#include <algorithm>
#include <optional>

#include "kernels/cpu/normalization/layer_norm.h"
#include "ops/fused/fused.h"
#include "ops/fused/fused_body.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/dropout.h"
#include "ops/nn/layer_normalization.h"
#include "ops/shape/axis.h"

namespace narrowgauge {

namespace {

// The share of elements that a Dropout or its gradient keeps; its settings begin at input `first`.
// Nothing if they are not constant or not for training.
std::optional<float> constant_keep(const Graph& body, const Node& node, std::size_t first) {
  if (node.inputs.size() != first + 2 || node.inputs[first + 1].is_absent()) return {};
  const Tensor* training = body.constant_value(node.inputs[first + 1]);
  const bool given = !node.inputs[first].is_absent();
  const Tensor* ratio = given ? body.constant_value(node.inputs[first]) : nullptr;
  if (!training || training->at(0) == 0 || (given && !ratio)) return {};
  return static_cast<float>(1 - (ratio ? ratio->at(0) : 0.5));
}

// Whether one node of the body reads the value, and it is no output.
bool is_inner(const Graph& body, Value value) {
  std::int64_t readers = output_index(body, value) >= 0 ? 2 : 0;
  for (const Node& node : body.nodes())
    readers += std::count(node.inputs.begin(), node.inputs.end(), value);
  return readers == 1;
}

// The indices of the group's operands by their part in the pattern; -1: none.
struct Forward {
  LayerNormalization op;
  int x = -1, other = -1, scale = -1, bias = -1;
  int y = -1, mean = -1, inverse_std = -1, sum = -1, kept = -1;
  float keep = 1;
  std::int64_t seed = -1;
  std::string dropout;  // the name of the node
};

// Takes the Dropout that made a value into the pattern.
bool take_dropout(const Graph& body, Value value, Forward& found) {
  const Node& node = body.producer(value);
  const std::optional<float> keep = constant_keep(body, node, 1);
  found.x = input_index(body, node.inputs[0]);
  if (!keep || value.output != 0 || !is_inner(body, value)) return false;
  found.keep = *keep;
  found.seed = node.as<Dropout>().seed;
  found.dropout = node.name;
  found.kept = output_index(body, {value.node, 1});
  return found.x >= 0;
}

std::optional<Forward> match_forward(const Graph& body) {
  const std::vector<int> nodes = working_nodes(body);
  if (nodes.size() < 2 || nodes.size() > 3) return {};
  const int last = nodes.back(), middle = nodes[nodes.size() - 2];
  const Node &norm = body.node(last), &add = body.node(middle);
  if (!norm.is<LayerNormalization>() || !add.is<Add>() || !(norm.inputs[0] == Value{middle, 0}))
    return {};
  Forward found;
  found.op = norm.as<LayerNormalization>();
  if (nodes.size() == 3) {
    if (!body.node(nodes[0]).is<Dropout>()) return {};
    const Value dropped{nodes[0], 0};
    const std::size_t at = add.inputs[0] == dropped ? 0 : 1;
    if (!(add.inputs[at] == dropped) || !take_dropout(body, dropped, found)) return {};
    found.other = input_index(body, add.inputs[1 - at]);
  } else {
    found.x = input_index(body, add.inputs[0]);
    found.other = input_index(body, add.inputs[1]);
  }
  found.scale = input_index(body, norm.inputs[1]);
  const bool biased = norm.inputs.size() > 2 && !norm.inputs[2].is_absent();
  if (biased) found.bias = input_index(body, norm.inputs[2]);
  found.y = output_index(body, {last, 0});
  found.mean = output_index(body, {last, 1});
  found.inverse_std = output_index(body, {last, 2});
  found.sum = output_index(body, {middle, 0});
  const bool all = found.x >= 0 && found.other >= 0 && found.scale >= 0 && found.y >= 0 &&
                   (!biased || found.bias >= 0);
  return all ? std::optional(found) : std::nullopt;
}

struct Backward {
  LayerNormalizationGradient op;
  std::vector<int> dy;  // to be added up
  int x = -1, scale = -1, mean = -1, inverse_std = -1, mask = -1;
  int dx = -1, dscale = -1, dbias = -1, dropped = -1;
  float keep = 1;
};

constexpr std::size_t most_gradients = 4;

// Collects the inputs that a value is the sum of.
bool collect_terms(const Graph& body, Value value, std::vector<int>& terms) {
  const int input = input_index(body, value);
  if (input >= 0) {
    terms.push_back(input);
    return terms.size() <= most_gradients;
  }
  const Node& add = body.producer(value);
  return add.is<Add>() && is_inner(body, value) && collect_terms(body, add.inputs[0], terms) &&
         collect_terms(body, add.inputs[1], terms);
}

bool take_dropout_gradient(const Graph& body, int index, Value dx, Backward& found) {
  const Node& node = body.node(index);
  const std::optional<float> keep = constant_keep(body, node, 2);
  if (!keep || !(node.inputs[0] == dx)) return false;
  found.keep = *keep;
  found.mask = input_index(body, node.inputs[1]);
  found.dropped = output_index(body, {index, 0});
  return found.mask >= 0 && found.dropped >= 0;
}

std::optional<Backward> match_backward(const Graph& body) {
  const std::vector<int> nodes = working_nodes(body);
  const auto norm = std::find_if(nodes.begin(), nodes.end(), [&](int node) {
    return body.node(node).is<LayerNormalizationGradient>();
  });
  if (nodes.size() < 2 || norm == nodes.end()) return {};
  const Node& node = body.node(*norm);
  Backward found;
  found.op = node.as<LayerNormalizationGradient>();
  if (!collect_terms(body, node.inputs[0], found.dy)) return {};
  const std::size_t taken = found.dy.size() + (norm + 1 == nodes.end() ? 0 : 1);
  if (nodes.size() != taken) return {};
  if (norm + 1 != nodes.end() && (!body.node(nodes.back()).is<DropoutGradient>() ||
                                  !take_dropout_gradient(body, nodes.back(), {*norm, 0}, found)))
    return {};
  found.x = input_index(body, node.inputs[1]);
  found.scale = input_index(body, node.inputs[2]);
  found.mean = input_index(body, node.inputs[3]);
  found.inverse_std = input_index(body, node.inputs[4]);
  found.dx = output_index(body, {*norm, 0});
  found.dscale = output_index(body, {*norm, 1});
  found.dbias = output_index(body, {*norm, 2});
  const bool all = found.x >= 0 && found.scale >= 0 && found.mean >= 0 && found.inverse_std >= 0;
  return all ? std::optional(found) : std::nullopt;
}

// Checks operands by their index, and finds their arrays in a call.
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
  bool are_rows(std::initializer_list<int> inputs, const Dims& dims) const {
    return std::all_of(inputs.begin(), inputs.end(), [&](int i) { return input(i).dims == dims; });
  }

  cpu::ConstArray in(const KernelCall& call, int i) const {
    if (i < 0) return {};
    return {call.inputs[static_cast<std::size_t>(i)].data, input(i).dtype};
  }
  cpu::Array out(const KernelCall& call, int o) const {
    if (o < 0) return {};
    const auto at = static_cast<std::size_t>(o);
    return {call.outputs[at].data, output(o).dtype, 0, call.flushed_at(at)};
  }
  template <class T>
  static T* output_data(const KernelCall& call, int o) {
    return o < 0 ? nullptr : call.outputs[static_cast<std::size_t>(o)].as<T>();
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

void normalize(const Forward& found, const cpu::RowLayout& layout, const Operands& operands,
               const KernelCall& call) {
  cpu::ResidualSum residual;
  residual.other = operands.in(call, found.other);
  residual.sum = operands.out(call, found.sum);
  residual.keep = found.keep;
  residual.kept = Operands::output_data<bool>(call, found.kept);
  const std::uint64_t seed =
      found.seed < 0 ? call.context.seed : static_cast<std::uint64_t>(found.seed);
  residual.stream = RandomStream(seed, found.dropout, call.context.step);
  cpu::LayerNormForward norm;
  norm.layout = layout;
  norm.x = operands.in(call, found.x);
  norm.y = operands.out(call, found.y);
  norm.scale = operands.in(call, found.scale);
  norm.bias = operands.in(call, found.bias);
  norm.epsilon = static_cast<float>(found.op.epsilon);
  norm.mean = Operands::output_data<float>(call, found.mean);
  norm.inverse_std = Operands::output_data<float>(call, found.inverse_std);
  norm.residual = &residual;
  layer_norm_forward(norm, call.workspace);
}

void propagate(const Backward& found, const cpu::RowLayout& layout, const Operands& operands,
               const KernelCall& call) {
  cpu::ResidualGradient residual;
  for (std::size_t i = 1; i < found.dy.size(); ++i)
    residual.more[i - 1] = operands.in(call, found.dy[i]);
  residual.dropped = operands.out(call, found.dropped);
  residual.kept = static_cast<const bool*>(operands.in(call, found.mask).data);
  residual.factor = 1 / found.keep;
  cpu::LayerNormBackward norm;
  norm.layout = layout;
  norm.dy = operands.in(call, found.dy[0]);
  norm.x = operands.in(call, found.x);
  norm.scale = operands.in(call, found.scale);
  norm.mean = static_cast<const float*>(operands.in(call, found.mean).data);
  norm.inverse_std = static_cast<const float*>(operands.in(call, found.inverse_std).data);
  norm.dx = operands.out(call, found.dx);
  norm.scale_gradient = operands.out(call, found.dscale);
  norm.bias_gradient = operands.out(call, found.dbias);
  norm.residual = &residual;
  layer_norm_backward(norm, call.workspace);
}

}  // namespace

Offer offer_fused_layer_norm(const Request& request) {
  const auto found = match_forward(*request.as<Fused>().body);
  if (!found) return Offer::decline("no LayerNormalization of a sum");
  const Operands operands(request);
  std::string reason = operands.reason();
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Dims& dims = operands.input(found->x).dims;
  const auto layout = rows_of(dims, found->op.axis);
  if (!layout) return Offer::decline("not rows of the last axis");
  if (!operands.are_rows({found->other}, dims)) return Offer::decline("terms are broadcast");
  if (!operands.output(found->y).present) return Offer::decline("nobody reads y");
  Offer offer;
  offer.implementation = "sum and rows, f32 statistics";
  offer.workspace = cpu::layer_norm_workspace(*layout);
  operands.offer_place(found->x, found->y, offer);
  operands.offer_place(found->other, found->sum, offer);
  offer.run = [found = *found, layout = *layout, operands](const KernelCall& call) {
    normalize(found, layout, operands, call);
  };
  return offer;
}

Offer offer_fused_layer_norm_gradient(const Request& request) {
  const auto found = match_backward(*request.as<Fused>().body);
  if (!found) return Offer::decline("no LayerNormalizationGradient with sums or dropout");
  const Operands operands(request);
  std::string reason = operands.reason();
  if (!reason.empty()) return Offer::decline(std::move(reason));
  const Dims& dims = operands.input(found->x).dims;
  const auto layout = rows_of(dims, found->op.axis);
  if (!layout) return Offer::decline("not rows of the last axis");
  for (const int term : found->dy)
    if (!operands.are_rows({term}, dims)) return Offer::decline("terms are broadcast");
  for (const int statistic : {found->mean, found->inverse_std})
    if (operands.input(statistic).dtype != DType::f32)
      return Offer::decline("statistics not of f32");
  Offer offer;
  offer.implementation = "sum and rows, f32 statistics";
  offer.workspace = cpu::layer_norm_backward_workspace(*layout);
  operands.offer_place(found->dy[0], found->dx, offer);
  offer.run = [found = *found, layout = *layout, operands](const KernelCall& call) {
    propagate(found, layout, operands, call);
  };
  return offer;
}

}  // namespace narrowgauge
