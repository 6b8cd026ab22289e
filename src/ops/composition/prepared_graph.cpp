// SPDX-License-Identifier: Apache-2.0
#include "ops/composition/prepared_graph.h"

#include <algorithm>

#include "base/enumerate.h"
#include "ops/composition/interpret.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t alignment = 64;

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

PreparedGraph::PreparedGraph(const Graph& graph, const Target& target, bool deterministic,
                             std::size_t lasting)
    : graph_(graph),
      lasting_(graph.inputs().end() - static_cast<std::ptrdiff_t>(lasting), graph.inputs().end()) {
  for (const auto& [i, node] : enumerate(graph.nodes())) {
    first_.push_back(bytes_.size());
    for (const ValueInfo& output : node.outputs) {
      require(output.storage.is_plain() && bits(output.type.dtype) >= 8, "node '", node.full_name(),
              "': its result is not plain, or packed");
      bytes_.push_back(element_count(known_dims(output.type.shape)) * bits(output.type.dtype) / 8);
    }
    if (!is_source(node)) add_step(i, target, deterministic);
  }
  address_.resize(bytes_.size());
  for (const Value value : graph.inputs()) inputs_.push_back(place_of(value));
  for (const GraphOutput& output : graph.outputs()) outputs_.push_back(place_of(output.value));
}

std::size_t PreparedGraph::place_of(Value value) const {
  if (value.is_absent()) return absent_place;
  return first_[static_cast<std::size_t>(value.node)] + static_cast<std::size_t>(value.output);
}

Operand PreparedGraph::operand_of(Value value) const {
  const TensorType& type = graph_.type(value);
  Operand operand{.dtype = type.dtype, .dims = known_dims(type.shape)};
  operand.strides = dense_strides(operand.dims);
  operand.constant = graph_.constant_value(value);
  operand.lasts = lasting_.contains(value);
  return operand;
}

void PreparedGraph::add_step(int index, const Target& target, bool deterministic) {
  const Node& node = graph_.node(index);
  std::vector<Operand> inputs, outputs;
  Step step;
  for (const Value value : node.inputs) {
    inputs.push_back(value.is_absent() ? Operand{.present = false} : operand_of(value));
    step.inputs.push_back(place_of(value));
  }
  for (const auto& [o, output] : enumerate(node.outputs)) {
    outputs.push_back(operand_of({index, o}));
    step.outputs.push_back(place_of({index, o}));
  }
  const Request request{*node.op, node.attributes, inputs,    outputs,
                        target,   node.math,       node.name, deterministic};
  step.offer = is_built_in(*node.op) ? ask_kernels(request, false) : choose_kernel(request, false);
  steps_.push_back(std::move(step));
}

void PreparedGraph::get_ready() {
  std::int64_t memory = 0, workspace = 0, packed = 0;
  std::vector<std::int64_t> offsets(bytes_.size(), -1);
  for (Step& step : steps_) {
    step.offer.get_ready();
    workspace = std::max(workspace, step.offer.workspace);
    step.packed = packed;
    packed += aligned(step.offer.packing.bytes);
    for (const std::size_t place : step.outputs) {
      offsets[place] = memory;
      memory += aligned(std::max<std::int64_t>(bytes_[place], 1));
    }
    in_views_.resize(std::max(in_views_.size(), step.inputs.size()));
    out_views_.resize(std::max(out_views_.size(), step.outputs.size()));
  }
  memory_ = Tensor(DType::u8, {memory});
  workspace_ = Tensor(DType::u8, {workspace});
  packed_ = Tensor(DType::u8, {packed});
  for (std::size_t place = 0; place < offsets.size(); ++place)
    if (offsets[place] >= 0) address_[place] = memory_.data() + offsets[place];
  for (const auto& [i, node] : enumerate(graph_.nodes()))
    if (node.is<Constant>())
      address_[place_of({i, 0})] = const_cast<std::byte*>(node.as<Constant>().value.data());
}

void PreparedGraph::place_inputs(std::span<const void* const> inputs) {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    address_[inputs_[i]] = const_cast<void*>(inputs[i]);
}

std::span<const View> PreparedGraph::views_of_inputs(const Step& step) {
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    in_views_[i].data = step.inputs[i] == absent_place ? nullptr : address_[step.inputs[i]];
  return std::span(in_views_).first(step.inputs.size());
}

void PreparedGraph::pack(std::span<const void* const> inputs) {
  place_inputs(inputs);
  for (const Step& step : steps_)
    if (step.offer.packing.bytes > 0)
      step.offer.packing.run(views_of_inputs(step), packed_.data() + step.packed);
}

void PreparedGraph::run(std::span<const void* const> inputs, const RunContext& context) {
  place_inputs(inputs);
  for (const Step& step : steps_) {
    for (const auto& [input, output] : step.offer.aliases)
      address_[step.outputs[static_cast<std::size_t>(output)]] =
          address_[step.inputs[static_cast<std::size_t>(input)]];
    if (!step.offer.aliases.empty()) continue;
    for (std::size_t o = 0; o < step.outputs.size(); ++o)
      out_views_[o].data = address_[step.outputs[o]];
    step.offer.run({views_of_inputs(step),
                    std::span(out_views_).first(step.outputs.size()),
                    workspace_.data(),
                    {},
                    context,
                    packed_.data() + step.packed});
  }
}

}  // namespace narrowgauge
