// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "ir/attributes.h"
#include "ir/text.h"
#include "narrowgauge/graph.h"
#include "tensor/values.h"

namespace narrowgauge {

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

namespace {

// The name, quoted if it has characters that would end it.
std::string name_text(std::string_view name) {
  const bool plain = name.find_first_of(" \t\n\r\"\\=,;@#(){}") == std::string_view::npos;
  return plain ? std::string(name) : quoted_text(name);
}

std::string full_name_text(const Node& node) {
  const std::string text = name_text(node.name);
  return node.instance == 0 ? text : concat(text, '#', node.instance);
}

std::string value_text(const Graph& graph, Value value) {
  const std::string text = '%' + full_name_text(graph.producer(value));
  return value.output == 0 ? text : concat(text, '@', value.output);
}

void append_element(std::string& out, const Tensor& tensor, std::int64_t i) {
  const double value = tensor.at(i);
  if (tensor.dtype() == DType::f64) {
    append_text(out, value);
  } else if (is_floating(tensor.dtype())) {
    char buffer[32];
    out.append(buffer,
               std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr);
  } else if (tensor.dtype() == DType::i64) {
    append_text(out, tensor.values<std::int64_t>().data()[i]);
  } else if (tensor.dtype() == DType::u64) {
    append_text(out, tensor.values<std::uint64_t>().data()[i]);
  } else {
    append_text(out, static_cast<std::int64_t>(value));
  }
}

}  // namespace

void append_tensor(std::string& out, const Tensor& tensor) {
  append_text(out, tensor.type());
  out += '{';
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if (i > 0) out += ',';
    append_element(out, tensor, i);
  }
  out += '}';
}

namespace {

void append_graph(std::string& out, const Graph& graph, int depth);

// Collects "name=value" texts in declaration order.
class AttributePrinter : public AttributeVisitor {
 public:
  explicit AttributePrinter(int depth) : depth_(depth) {}
  void operator()(std::string_view key, bool& v) override { add(key, concat(v)); }
  void operator()(std::string_view key, std::int64_t& v) override { add(key, concat(v)); }
  void operator()(std::string_view key, double& v) override { add(key, concat(v)); }
  void operator()(std::string_view key, std::string& v) override { add(key, quoted_text(v)); }
  void operator()(std::string_view key, DType& v) override { add(key, concat(v)); }
  void operator()(std::string_view key, Dims& v) override { add(key, concat(v)); }
  void operator()(std::string_view key, Shape& v) override { add(key, concat(v)); }
  void operator()(std::string_view key, TensorType& v) override { add(key, concat(v)); }
  void operator()(std::string_view key, Tensor& v) override {
    std::string text;
    append_tensor(text, v);
    add(key, std::move(text));
  }
  void operator()(std::string_view key, Region& v) override {
    std::string text;
    if (v) append_graph(text, *v, depth_ + 1);
    add(key, std::move(text));
  }
  std::vector<std::pair<std::string, std::string>> texts;

 private:
  void add(std::string_view key, std::string text) { texts.emplace_back(key, std::move(text)); }
  int depth_;
};

std::vector<std::pair<std::string, std::string>> attribute_texts(const OpRecord& op,
                                                                 Attributes attributes, int depth) {
  AttributePrinter printer(depth);
  op.visit(attributes.mutate(), printer);
  return std::move(printer.texts);
}

std::string attributes_text(const OpRecord& op, const Attributes& attributes, int depth) {
  const auto texts = attribute_texts(op, attributes, depth);
  const auto defaults = attribute_texts(op, op.make_default(), depth);
  std::string out;
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (texts[i].second != defaults[i].second)
      out += concat(out.empty() ? "" : ", ", texts[i].first, '=', texts[i].second);
  return out;
}

void append_inputs(std::string& out, const Graph& graph, const Node& node) {
  if (node.inputs.empty()) return;
  out += '(';
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (i > 0) out += ", ";
    out += node.inputs[i].is_absent() ? "_" : value_text(graph, node.inputs[i]);
  }
  out += ')';
}

void append_notes(std::string& out, const Node& node) {
  if (node.math != Math::none) out += concat(" @math=", node.math);
  if (!node.origin.empty()) out += concat(" @origin=", quoted_text(node.origin));
  if (node.phase != Phase::forward) out += concat(" @phase=", name(node.phase));
  if (node.autocast) out += concat(" @autocast=", *node.autocast);
  for (std::size_t i = 0; i < node.file_nodes.size(); ++i) {
    const auto& [name, path] = node.file_nodes[i];
    out += concat(i == 0 ? " @file_nodes=" : ",", quoted_text(name));
    if (path != name) out += concat('=', quoted_text(path));
  }
  bool plain = true;
  for (const ValueInfo& output : node.outputs) plain = plain && output.storage.is_plain();
  if (plain) return;
  out += " @storage=";
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    out += concat(i == 0 ? "" : ",", node.outputs[i].storage);
}

void append_node(std::string& out, const Graph& graph, const Node& node, int depth) {
  out += concat('%', full_name_text(node), " = ", node.op->full_name());
  append_inputs(out, graph, node);
  const std::string attributes = attributes_text(*node.op, node.attributes, depth);
  if (!attributes.empty()) out += concat(" {", attributes, '}');
  out += " : ";
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    out += concat(i == 0 ? "" : ", ", node.outputs[i].type);
  append_notes(out, node);
  out += '\n';
}

std::string initial_text(const Initial& initial) {
  std::string out;
  switch (initial.kind) {
    case Initial::Kind::constant:
      return concat("constant(", initial.a, ')');
    case Initial::Kind::uniform:
      return concat("uniform(", initial.a, ',', initial.b, ')');
    case Initial::Kind::normal:
      return concat("normal(", initial.a, ',', initial.b, ')');
    case Initial::Kind::truncated_normal:
      return concat("truncated_normal(", initial.a, ',', initial.b, ')');
    case Initial::Kind::data:
      append_tensor(out, initial.data);
  }
  return out;
}

void append_state(std::string& out, const Graph& graph, const State& state, int depth) {
  out += concat("state %", name_text(state.name), " role=", name(state.role),
                " initial=", initial_text(state.initial), " next=", value_text(graph, state.next));
  if (state.derivation) {
    out += " from=[";
    for (std::size_t i = 0; i < state.derived_from.size(); ++i)
      out += concat(i == 0 ? "" : ",", quoted_text(state.derived_from[i]));
    out += "] derivation=";
    append_graph(out, *state.derivation, depth + 1);
  }
  out += '\n';
}

void append_graph(std::string& out, const Graph& graph, int depth) {
  const std::string indent(static_cast<std::size_t>(2 * depth + 2), ' ');
  out += concat("graph ", quoted_text(graph.name()), " {\n");
  for (const Node& node : graph.nodes()) {
    out += indent;
    append_node(out, graph, node, depth);
  }
  for (const State& state : graph.states()) {
    out += indent;
    append_state(out, graph, state, depth);
  }
  for (const GraphOutput& output : graph.outputs())
    out += concat(indent, "output ", quoted_text(output.name), " = ",
                  value_text(graph, output.value), '\n');
  out += std::string(static_cast<std::size_t>(2 * depth), ' ') + '}';
}

}  // namespace

std::string print(const Graph& graph) {
  std::string out;
  append_graph(out, graph, 0);
  return out + '\n';
}

std::string print_attributes(const OpRecord& op, const Attributes& attributes) {
  return attributes_text(op, attributes, 0);
}

bool equal(const OpRecord& op, const Attributes& a, const Attributes& b) {
  return a.get() == b.get() || attribute_texts(op, a, 0) == attribute_texts(op, b, 0);
}

}  // namespace narrowgauge
