// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/export/graph_export.h"

#include <algorithm>
#include <utility>

#include "base/enumerate.h"
#include "io/onnx/export/attributes.h"
#include "io/onnx/parameter_port.h"
#include "ir/attributes.h"
#include "ops/control/control_flow.h"
#include "ops/convolution/causal_conv.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/recurrent/gru.h"
#include "ops/recurrent/lstm.h"
#include "ops/recurrent/rnn.h"
#include "ops/table.h"

namespace narrowgauge::onnx {

namespace {

// How many inputs a node has in ONNX, whose regions see outer values without being given them.
int inputs_of(const narrowgauge::Node& node) {
  const int all = static_cast<int>(node.inputs.size());
  if (node.is<If>()) return 1;
  if (node.is<Loop>()) return 2 + static_cast<int>(node.as<Loop>().carried);
  if (node.is<Scan>()) return all - static_cast<int>(node.as<Scan>().captured);
  return all;
}

class RegionCollector : public IgnoringVisitor {
 public:
  using IgnoringVisitor::operator();
  void operator()(std::string_view name, Region& region) override {
    regions.emplace_back(name, region);
  }
  std::vector<std::pair<std::string, Region>> regions;
};

// Ops of the program are written as they are, in the domain that is theirs.
bool is_of_program(const OpRecord& op) { return !is_built_in(op); }

void require_expressible(const narrowgauge::Node& node) {
  const std::string_view domain = node.op->info.domain;
  const bool own = is_of_program(*node.op);
  require<ModelError>(domain.empty() || own, "ops of the domain ", domain, " are not written");
  require<ModelError>(!own || !(domain.empty() || domain == "ng" || domain == "ai.onnx"),
                      "an op of the program is written in a domain of its own, it has '", domain,
                      "'");
  require<ModelError>(!is_simulated(node.math), "ONNX cannot say that it computes as ", node.math);
  const bool unbiased = node.is<BatchNormalization>() &&
                        node.as<BatchNormalization>().training_mode != 0 &&
                        node.as<BatchNormalization>().unbiased;
  require<ModelError>(!unbiased, "ONNX has no unbiased running variance");
}

// How many results the file must name although ops leave them to whoever reads them.
int demanded_outputs(const narrowgauge::Node& node) {
  const bool by_the_batch =
      node.is<BatchNormalization>() && node.as<BatchNormalization>().training_mode != 0;
  if (by_the_batch) return 3;
  return node.is<CausalConvWithState>() ? 2 : 0;
}

// Results that only training reads stand behind those of ONNX.
void require_outputs_of_onnx(const Node& node) {
  if (!node.domain.empty()) return;
  const std::size_t most = node.op_type == "BatchNormalization" ? 3
                           : node.op_type == "MaxPool"          ? 2
                                                                : node.outputs.size();
  require<ModelError>(node.outputs.size() <= most, "output ", most, " is of training alone");
}

// ONNX Runtime demands what ONNX leaves to the shape of the recurrent weights.
void state_hidden_size(const narrowgauge::Graph& graph, const narrowgauge::Node& node, Node& made) {
  const bool recurrent = node.is<LSTM>() || node.is<GRU>() || node.is<RNN>();
  if (!recurrent || made.find("hidden_size")) return;
  const Dim hidden = graph.type(node.input(2)).shape.back();
  made.attributes.push_back(attribute_of("hidden_size", hidden.value()));
}

}  // namespace

std::string ModelExport::unique_name(const std::string& base) {
  std::string name = base;
  for (int i = 2; !names.insert(name).second; ++i) name = concat(base, '_', i);
  return name;
}

GraphExport::GraphExport(ModelExport& model, const narrowgauge::Graph& graph,
                         const std::vector<std::string>& captured)
    : model_(model), graph_(graph), names_(graph) {
  result_.name = graph.name().empty() ? "graph" : graph.name();
  for (const narrowgauge::Node& node : graph.nodes())
    for (const auto& [i, value] : enumerate(std::span(node.inputs))) {
      used_.insert(value);
      if (takes_parameters(*node.op, i)) learnt_.insert(value);
    }
  name_inputs(captured);
  name_outputs();
}

void GraphExport::name_inputs(const std::vector<std::string>& captured) {
  const std::span own = std::span(graph_.inputs()).first(graph_.inputs().size() - captured.size());
  for (const Value input : own) {
    names_[input] = model_.unique_name(graph_.value_name(input));
    result_.inputs.push_back(info_of(names_[input], graph_.type(input)));
  }
  for (const auto& [i, name] : enumerate(captured))
    names_[graph_.inputs()[own.size() + static_cast<std::size_t>(i)]] = name;
  for (const State& state : graph_.states()) names_[state.current] = model_.unique_name(state.name);
}

// A value that a node computes is called as the first output that it is.
void GraphExport::name_outputs() {
  for (const GraphOutput& output : graph_.outputs()) {
    outputs_.push_back(model_.unique_name(output.name));
    result_.outputs.push_back(info_of(outputs_.back(), graph_.type(output.value)));
    if (names_[output.value].empty()) names_[output.value] = outputs_.back();
    used_.insert(output.value);
  }
}

ValueInfo GraphExport::info_of(const std::string& name, const TensorType& type) const {
  TensorShape shape;
  for (const Dim& dim : type.shape) {
    Dimension& dimension = shape.dims.emplace_back();
    if (dim.is_known())
      dimension.size = dim.value();
    else
      dimension.size = dim.text();
  }
  ValueInfo info;
  info.name = name;
  info.type.emplace().kind = DenseTensorType{data_type_of(type.dtype), std::move(shape)};
  return info;
}

std::vector<DType> GraphExport::dtypes_of(const narrowgauge::Node& node) const {
  std::vector<DType> dtypes;
  for (const Value& value : node.inputs)
    if (!value.is_absent()) dtypes.push_back(graph_.type(value).dtype);
  for (const narrowgauge::ValueInfo& output : node.outputs) dtypes.push_back(output.type.dtype);
  return dtypes;
}

void GraphExport::add_state(const narrowgauge::Node& node) {
  const State& state = *graph_.find_state(node.name);
  require<ModelError>(state.next == state.current, "it changes in a step; only a graph that ",
                      "predicts can be exported");
  const auto given = model_.states.find(state.name);
  const Tensor value = given == model_.states.end() ? state.initial.data : given->second;
  require<ModelError>(value.type() == state.type, "expected a value ", state.type, ", got ",
                      value.type());
  result_.initializers.push_back(tensor_data_of(value, names_[state.current]));
}

// An initializer, unless whoever imports the file would take it for a parameter.
void GraphExport::add_constant(int index, const narrowgauge::Node& node) {
  const Value value{index, 0};
  const TensorType& type = graph_.type(value);
  const bool as_parameter =
      type.dtype == DType::f32 && !type.shape.empty() && learnt_.contains(value);
  if (as_parameter || !names_[value].empty()) return add_op(index, node);
  names_[value] = model_.unique_name(graph_.value_name(value));
  result_.initializers.push_back(tensor_data_of(node.as<Constant>().value, names_[value]));
}

// Results that nobody reads are left out, unless the op always has them or ONNX demands them.
std::vector<std::string> GraphExport::output_names(int index, const narrowgauge::Node& node) {
  std::vector<std::string> names;
  const int demanded = demanded_outputs(node);
  for (const auto& [o, output] : enumerate(node.outputs)) {
    const Value value{index, o};
    std::string& name = names_[value];
    const bool wanted = used_.contains(value) || !node.op->output_port(o).optional || o < demanded;
    if (name.empty() && wanted) name = model_.unique_name(graph_.value_name(value));
    names.push_back(name);
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

void GraphExport::add_regions(const narrowgauge::Node& node, Node& made) {
  RegionCollector collector;
  Attributes attributes = node.op->clone(node.attributes);
  node.op->visit(attributes.mutate(), collector);
  std::vector<std::string> captured;
  for (std::size_t i = made.inputs.size(); i < node.inputs.size(); ++i)
    captured.push_back(name_of(node.inputs[i]));
  for (const auto& [name, region] : collector.regions)
    made.attributes.push_back(
        attribute_of(name, Box<Graph>(GraphExport(model_, *region, captured).run())));
}

void GraphExport::add_op(int index, const narrowgauge::Node& node) {
  require_expressible(node);
  Node made;
  made.name = node.full_name();
  made.op_type = node.op->info.name;
  if (is_of_program(*node.op)) {
    made.domain = node.op->info.domain;
    model_.domains.insert(made.domain);
  }
  for (int i = 0; i < inputs_of(node); ++i)
    made.inputs.push_back(i < std::ssize(node.inputs) ? name_of(node.input(i)) : "");
  made.outputs = output_names(index, node);
  made.attributes = attributes_of(*node.op, node.attributes);
  require_outputs_of_onnx(made);
  state_hidden_size(graph_, node, made);
  add_regions(node, made);
  if (made.domain.empty()) model_.opset = std::max(model_.opset, opset_for(made, dtypes_of(node)));
  for (const auto& [o, name] : enumerate(made.outputs))
    if (!name.empty() && !std::ranges::count(outputs_, name))
      result_.value_infos.push_back(info_of(name, node.output(o).type));
  result_.nodes.push_back(std::move(made));
}

void GraphExport::add_identity(const std::string& from, const std::string& to) {
  Node& node = result_.nodes.emplace_back();
  node.name = to;
  node.op_type = "Identity";
  node.inputs = {from};
  node.outputs = {to};
}

void GraphExport::add_node(int index, const narrowgauge::Node& node) try {
  if (node.is<StateValue>())
    add_state(node);
  else if (node.is<Constant>())
    add_constant(index, node);
  else if (!node.is<Input>())
    add_op(index, node);
} catch (const UsageError& error) {
  throw ModelError(
      concat("node '", node.full_name(), "' (", node.op->full_name(), "): ", error.what()));
}

Graph GraphExport::run() {
  for (const auto& [i, node] : enumerate(graph_.nodes())) add_node(i, node);
  for (const auto& [o, output] : enumerate(std::span(graph_.outputs())))
    if (const std::string& name = outputs_.at(static_cast<std::size_t>(o));
        names_[output.value] != name)
      add_identity(names_[output.value], name);
  return std::move(result_);
}

}  // namespace narrowgauge::onnx
