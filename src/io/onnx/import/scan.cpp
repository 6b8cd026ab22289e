// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/scan.h"

#include <numeric>

#include "base/enumerate.h"
#include "io/onnx/import/region.h"
#include "ops/axes/axes.h"
#include "ops/control/control_flow.h"
#include "ops/index/gather.h"
#include "ops/shape/concat.h"
#include "ops/shape/transpose.h"
#include "ops/shape/views.h"

namespace narrowgauge::onnx {

namespace {

// x with `from` as axis `to`, the others in their order.
Value with_moved_axis(NodeImport& node, Value x, std::int64_t from, std::int64_t to) {
  const std::size_t rank = node.graph().type(x).shape.size();
  const auto source = static_cast<std::int64_t>(normalize_axis("Scan", from, rank));
  const auto target = static_cast<std::int64_t>(normalize_axis("Scan", to, rank));
  if (source == target) return x;
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + source);
  order.insert(order.begin() + target, source);
  return node.add(Transpose{.perm = order}, {x});
}

std::int64_t at(const std::optional<Dims>& list, std::size_t index) {
  return list ? list->at(index) : 0;
}

struct ScanAttributes {
  Box<Graph> body;
  std::int64_t scanned;
  std::optional<Dims> input_axes, output_axes, input_directions, output_directions;
};

ScanAttributes scan_attributes_of(NodeImport& node) {
  auto body = node.take<Box<Graph>>("body");
  require<ModelError>(body.has_value(), "attribute 'body' is missing");
  const auto scanned = node.take<std::int64_t>("num_scan_inputs");
  require<ModelError>(scanned && *scanned >= 1, "attribute 'num_scan_inputs' must be 1 or more");
  return {*body,
          *scanned,
          node.take<Dims>("scan_input_axes"),
          node.take<Dims>("scan_output_axes"),
          node.take<Dims>("scan_input_directions"),
          node.take<Dims>("scan_output_directions")};
}

Values scanned(NodeImport& node, const ScanAttributes& given, Values inputs) {
  require<ModelError>(std::ssize(inputs) >= given.scanned, "fewer inputs than num_scan_inputs");
  const std::size_t states = inputs.size() - static_cast<std::size_t>(given.scanned);
  TensorTypes types;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i >= states)
      inputs[i] = with_moved_axis(node, inputs[i], at(given.input_axes, i - states), 0);
    types.push_back(node.graph().type(inputs[i]));
    if (i < states) continue;
    require<ModelError>(!types.back().shape.empty(), "a scan input needs at least one axis");
    types.back().shape.erase(types.back().shape.begin());
  }
  const Body body = body_of(node, "body", *given.body, types);
  require<ModelError>(body.tensors_only, "its graph must give tensors");
  Values captured;
  for (const Scope::Capture& capture : body.captures) captured.push_back(capture.outside);
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  const Scan op{.body = region_of(body, types.size(), node, captured),
                .num_scan_inputs = given.scanned,
                .captured = std::ssize(captured),
                .scan_input_directions = given.input_directions.value_or(Dims{}),
                .scan_output_directions = given.output_directions.value_or(Dims{})};
  Values outputs = node.add(record_of<Scan>(), Attributes::of(op), inputs);
  for (std::size_t o = states; o < outputs.size(); ++o)
    outputs[o] = with_moved_axis(node, outputs[o], 0, at(given.output_axes, o - states));
  return outputs;
}

Item stacked(NodeImport& node, const Values& values) {
  Values rows;
  for (const Value value : values) rows.push_back(node.add(Unsqueeze{}, {value, node.list({0})}));
  return Item::of(node.add(Concat{.axis = 0}, rows));
}

// Before opset 9 every input had a batch axis in front, and a first input could shorten sequences.
Items scanned_by_samples(NodeImport& node, const ScanAttributes& given) {
  require<ModelError>(!node.has_input(0), "sequence_lens of opset 8 is not supported");
  Values inputs;
  for (int i = 1; i < node.input_count(); ++i) inputs.push_back(node.needed(i));
  require<ModelError>(!inputs.empty() && !node.graph().type(inputs[0]).shape.empty(),
                      "inputs of opset 8 have a batch axis");
  const Dim batch = node.graph().type(inputs[0]).shape[0];
  require<UnknownValueError>(batch.is_known(), "Scan: the batch size must be known in opset 8");
  std::vector<Values> results;
  for (std::int64_t sample = 0; sample < batch.value(); ++sample) {
    const Value index = node.constant(Tensor::from<std::int64_t>({}, std::vector{sample}));
    Values one;
    for (const Value input : inputs) one.push_back(node.add(Gather{}, {input, index}));
    const Values outputs = scanned(node, given, one);
    results.resize(outputs.size());
    for (std::size_t o = 0; o < outputs.size(); ++o) results[o].push_back(outputs[o]);
  }
  Items items;
  for (const Values& samples : results) items.push_back(stacked(node, samples));
  return items;
}

}  // namespace

Item stack(NodeImport& node, const Items& items) {
  Values values;
  for (const Item& item : items) {
    require<ModelError>(item.kind == Item::Kind::value, "only tensors can be stacked");
    values.push_back(item.value);
  }
  require<ModelError>(!values.empty(), "what a loop without rounds stacks has no known shape");
  return stacked(node, values);
}

Items scan(NodeImport& node) {
  const bool by_samples = node.version() < 9;
  const auto directions = by_samples ? node.take<Dims>("directions") : std::nullopt;
  ScanAttributes given = scan_attributes_of(node);
  if (by_samples) {
    given.input_directions = directions;
    return scanned_by_samples(node, given);
  }
  Values inputs;
  for (int i = 0; i < node.input_count(); ++i) inputs.push_back(node.needed(i));
  Items items;
  for (const Value value : scanned(node, given, inputs)) items.push_back(Item::of(value));
  return items;
}

}  // namespace narrowgauge::onnx
