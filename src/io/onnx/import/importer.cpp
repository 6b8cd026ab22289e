// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/import/importer.h"

#include <algorithm>
#include <utility>

#include "base/enumerate.h"
#include "io/onnx/for_each.h"
#include "io/onnx/import/attributes.h"
#include "io/onnx/import/conversions.h"
#include "io/onnx/import/fold.h"
#include "io/onnx/import/handlers.h"
#include "io/onnx/import/types.h"
#include "io/onnx/parameter_port.h"
#include "ir/attributes.h"
#include "ir/unknown_op.h"
#include "ops/pointwise/cast.h"
#include "ops/table.h"
#include "passes/simplify/drop_identities.h"
#include "passes/simplify/remove_dead_code.h"

namespace narrowgauge::onnx {

namespace {

constexpr int deepest_call = 64;  // of functions inside functions
// Functions and loops can make many nodes out of few.
constexpr std::int64_t most_nodes = 200'000;

// The message without the node that graph.add() names, which the caller names too.
std::string_view without_node(std::string_view message, const Node& node) {
  const std::string prefix = concat("node '", node.name, "': ");
  if (message.starts_with(prefix)) message.remove_prefix(prefix.size());
  return message;
}

// While it lives, what is added stands for the node that it is made for, and is called after it
// where it has no name.
class NamesOf {
 public:
  NamesOf(narrowgauge::Graph& graph, const std::string& node, const std::string& path)
      : graph_(graph), before_(graph.scope()) {
    NodeScope scope = before_;
    scope.prefix = node.empty() ? "" : node + '.';
    if (!node.empty()) scope.file_nodes = {{node, path}};
    graph.set_scope(std::move(scope));
  }
  NamesOf(const NamesOf&) = delete;
  ~NamesOf() { graph_.set_scope(std::move(before_)); }

 private:
  narrowgauge::Graph& graph_;
  NodeScope before_;
};

// While it lives, a variable has another value.
template <class T>
class Meanwhile {
 public:
  Meanwhile(T& variable, T value) : variable_(variable), before_(std::move(value)) {
    std::swap(variable_, before_);
  }
  Meanwhile(const Meanwhile&) = delete;
  ~Meanwhile() { std::swap(variable_, before_); }

 private:
  T& variable_;
  T before_;
};

bool has_symbols(const narrowgauge::Graph& graph) {
  return std::ranges::any_of(graph.inputs(),
                             [&](Value value) { return !is_known(graph.type(value).shape); });
}

}  // namespace

Importer::Importer(const Model& model, const ImportOptions& options)
    : model_(model), options_(options), graph_(model.graph.name) {
  for (const Function& function : model.functions) functions_[function.full_name()] = &function;
  body_.opsets = opsets_of(model.opset_imports);
  if (body_.opsets.empty()) body_.opsets[""] = 1;  // files before IR version 3 state none
  for_each<Node>(model, [&](const Node& node) { names_.insert(own_name(node)); });
}

Imported Importer::run() {
  Scope scope(graph_);
  if (!options_.parameters) scope.keep_constants();
  scope.add_initializers(model_.graph);
  add_inputs(scope);
  for (const Node& node : model_.graph.nodes) add_node(node, scope);
  std::map<std::string, Texts> texts;
  for (const ValueInfo& output : model_.graph.outputs) {
    const Item item = scope.find(output.name, false);
    if (item.kind == Item::Kind::texts) texts[output.name] = *item.texts;
    if (item.kind == Item::Kind::value) graph_.output(output.name, item.value);
    for (const auto& [i, element] : enumerate(item.elements)) {
      require<ModelError>(element.kind == Item::Kind::value, "output '", output.name,
                          "': only sequences of tensors are supported");
      graph_.output(concat(output.name, '[', i, ']'), element.value);
    }
  }
  return {remove_dead_code(keep_identities_of_outputs(graph_)), std::move(texts)};
}

void Importer::add_inputs(Scope& scope) {
  for (const ValueInfo* input : given_inputs(model_.graph))
    scope.set(input->name, input_of(*input));
}

Item Importer::input_of(const ValueInfo& info) {
  const auto known = options_.known.find(info.name);
  if (known != options_.known.end()) {
    if (known->second.texts) return Item::of(*known->second.texts);
    Items elements;
    for (const Tensor& tensor : known->second.values)
      elements.push_back(Item::of(graph_.constant(tensor)));
    if (is_sequence(info)) return Item::sequence(std::move(elements));
    return elements.empty() ? Item{} : elements.front();
  }
  require<UnknownValueError>(!is_sequence(info), "input '", info.name,
                             "': how many elements it has must be known");
  const auto given = options_.types.find(info.name);
  return Item::of(
      graph_.input(info.name, given == options_.types.end() ? type_of(info) : given->second));
}

Items Importer::add_graph(const Graph& graph, std::string_view attribute, Scope& scope) {
  const Meanwhile inside(around_path_, concat(path_, ':', attribute, ':'));
  scope.add_initializers(graph);
  for (const Node& node : graph.nodes) add_node(node, scope);
  Items items;
  for (const ValueInfo& output : graph.outputs) items.push_back(scope.find(output.name, false));
  return items;
}

void Importer::count_node() {
  require<ModelError>(++nodes_ <= most_nodes, "the model needs more than ", most_nodes, " nodes");
}

void Importer::add_node(const Node& source, Scope& scope) {
  count_node();
  try {
    NodeImport import(*this, scope, with_attributes_of_function(source),
                      version_for(source.domain));
    const Meanwhile path(path_, around_path_ + import.name());
    const NamesOf names(scope.graph(), import.name(), path_);
    const auto first = static_cast<int>(scope.graph().nodes().size());
    const Items items = items_of(import);
    for (std::size_t i = 0; i < std::min(items.size(), source.outputs.size()); ++i)
      if (!source.outputs[i].empty())
        scope.set(source.outputs[i], told_apart(items[i], first, import));
  } catch (const UnknownValueError&) {
    throw;
  } catch (const ModelError& error) {
    throw ModelError(concat(description(source), ": ", error.what()));
  } catch (const UsageError& error) {
    const std::string text = concat(description(source), ": ", without_node(error.what(), source));
    if (has_symbols(scope.graph())) throw UnknownValueError(text);  // it may fit with numbers
    throw ModelError(text);
  }
}

// A node that hands a value on (Identity, SequenceAt, an If that is decided) becomes an Identity of
// its name: before an output the plan has to tell the two apart.
Item Importer::told_apart(const Item& item, int first, NodeImport& node) {
  const bool handed_on = item.kind == Item::Kind::value && item.value.node < first;
  if (!handed_on || node.scope().region() || node.graph().constant_value(item.value) ||
      !is_floating(node.graph().type(item.value).dtype))
    return item;
  return Item::of(add(node.scope(), record_of<Identity>(), Attributes::of(Identity{}), {item.value},
                      node.name())
                      .at(0));
}

Items Importer::items_of(NodeImport& node) {
  const std::string name = node.node().full_name();
  if (const NamedHandler* const found = find_handler(name)) return found->handle(node);
  if (const NamedHandler* const found = find_text_handler(name); found && node.reads_texts())
    return found->handle(node);
  const auto function = functions_.find(name);
  if (function != functions_.end() && !op_table().find(name)) return call(*function->second, node);
  return add_op(node);
}

Items Importer::call(const Function& function, NodeImport& node) {
  require<ModelError>(body_.depth < deepest_call, "functions call each other more than ",
                      deepest_call, " deep");
  Scope scope(node.graph());
  for (const auto& [i, input] : enumerate(function.inputs)) scope.set(input, node.item(i));
  Body body{opsets_of(function.opset_imports), {}, body_.depth + 1};
  for (const Attribute& attribute : function.default_attributes)
    body.attributes[attribute.name] = &attribute;
  for (const Attribute& attribute : node.node().attributes)
    body.attributes[attribute.name] = &attribute;
  const Meanwhile of_function(body_, std::move(body));
  const Meanwhile inside(around_path_, path_ + ':');
  for (const Node& inner : function.nodes) add_node(inner, scope);
  Items items;
  for (const std::string& output : function.outputs) items.push_back(scope.find(output, false));
  return items;
}

Items Importer::add_op(NodeImport& node) {
  node.drop("consumed_inputs");  // of the first opset: which inputs may be overwritten
  Values made = convert(node);
  if (made.empty()) {
    const OpRecord* const op = op_table().find(node.node().full_name());
    if (!op) throw ModelError(unknown_op_text(node.node().full_name(), op_table()));
    const Attributes attributes = attributes_of(*op, node.node());
    Values inputs;
    for (int i = 0; i < node.input_count(); ++i) {
      const bool known =
          i < std::ssize(op->inputs) || (!op->inputs.empty() && op->inputs.back().variadic);
      inputs.push_back(node.value(i, known && !takes_parameters(*op, i)));
    }
    made = add(node.scope(), *op, attributes, inputs, node.name());
  }
  Items items;
  for (const Value value : made) items.push_back(Item::of(value));
  return items;
}

Values Importer::add(Scope& scope, const OpRecord& op, const Attributes& attributes,
                     const Values& inputs, const std::string& name) {
  return add(scope, op, attributes, inputs,
             NodeOptions{.name = name, .file_nodes = scope.graph().scope().file_nodes});
}

// What a region computes from parameters and constants alone is computed once outside of it, and
// not in every round or call.
Values Importer::add(Scope& scope, const OpRecord& op, const Attributes& attributes,
                     const Values& inputs, NodeOptions options) {
  Scope* const region = scope.region();
  if (region && !op.info.random && !op.region_ports && region->are_of_parameters(inputs)) {
    Values made = add(*region->outer(), op, attributes, region->outside_of(inputs), options);
    for (Value& value : made) value = region->captured(value);
    return made;
  }
  narrowgauge::Graph& graph = scope.graph();
  if (!options.name.empty()) options.name = name_like(options.name, graph);
  const Value first = graph.add(op, attributes, inputs, std::move(options));
  return folded(graph, first.node, !options_.known.empty());
}

// A second node of a name, as in the next round of a loop, takes it from no other node of the file.
std::string Importer::name_like(const std::string& wanted, const narrowgauge::Graph& graph) const {
  std::string name = graph.unique_name(wanted);
  while (name != wanted && names_.contains(name)) name = graph.unique_name(wanted);
  return name;
}

Node Importer::with_attributes_of_function(const Node& node) const {
  Node result = node;
  std::erase_if(result.attributes, [&](Attribute& attribute) {
    if (attribute.ref_attr_name.empty()) return false;
    const auto given = body_.attributes.find(attribute.ref_attr_name);
    if (given == body_.attributes.end()) return true;
    attribute.value = given->second->value;
    attribute.type = given->second->type;
    return false;
  });
  return result;
}

std::int64_t Importer::version_for(const std::string& domain) const {
  const auto found = body_.opsets.find(domain == "ai.onnx" ? "" : domain);
  return found == body_.opsets.end() ? newest_opset : found->second;
}

narrowgauge::Graph import_graph(const Model& model, const ImportOptions& options) {
  return Importer(model, options).run().graph;
}

Imported import_model(const Model& model, const ImportOptions& options) {
  return Importer(model, options).run();
}

}  // namespace narrowgauge::onnx
