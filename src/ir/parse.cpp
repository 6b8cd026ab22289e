// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "ir/text.h"
#include "ir/unknown_op.h"
#include "narrowgauge/graph.h"

namespace narrowgauge {

namespace {

Graph parse_graph(Lexer& lexer, const OpTable& ops);

// Reads the value of the one attribute called `key`.
class AttributeReader : public AttributeVisitor {
 public:
  AttributeReader(Lexer& lexer, const OpTable& ops, std::string key)
      : lexer_(lexer), ops_(ops), key_(std::move(key)) {}
  void operator()(std::string_view key, bool& v) override {
    if (!matches(key)) return;
    v = lexer_.accept("true");
    if (!v) lexer_.expect("false");
  }
  void operator()(std::string_view key, std::int64_t& v) override {
    if (matches(key)) v = lexer_.integer();
  }
  void operator()(std::string_view key, double& v) override {
    if (matches(key)) v = lexer_.number();
  }
  void operator()(std::string_view key, std::string& v) override {
    if (matches(key)) v = lexer_.string();
  }
  void operator()(std::string_view key, DType& v) override {
    if (!matches(key)) return;
    const std::string text = lexer_.word(",}", "a dtype");
    const auto parsed = parse_dtype(text);
    if (!parsed) lexer_.fail(concat("unknown dtype '", text, "'"));
    v = *parsed;
  }
  void operator()(std::string_view key, Dims& v) override {
    if (!matches(key)) return;
    v.clear();
    lexer_.expect("[");
    while (!lexer_.accept("]")) {
      if (!v.empty()) lexer_.expect(",");
      v.push_back(lexer_.integer());
    }
  }
  void operator()(std::string_view key, Shape& v) override {
    if (matches(key)) v = TensorType::parse("f32" + lexer_.balanced(",}", "a shape")).shape;
  }
  void operator()(std::string_view key, TensorType& v) override {
    if (matches(key)) v = TensorType::parse(lexer_.balanced(",}", "a type"));
  }
  void operator()(std::string_view key, Tensor& v) override {
    if (matches(key)) v = lexer_.tensor();
  }
  void operator()(std::string_view key, Region& v) override {
    if (matches(key)) v = std::make_shared<const Graph>(parse_graph(lexer_, ops_));
  }
  bool found = false;

 private:
  bool matches(std::string_view key) {
    if (key != key_) return false;
    found = true;
    return true;
  }
  Lexer& lexer_;
  const OpTable& ops_;
  std::string key_;
};

// What follows the "%" of a node: its name, quoted or not, and its instance.
struct NodeName {
  std::string name;
  int instance = 0;
};

NodeName parse_node_name(Lexer& lexer, std::string_view stops, std::string_view what) {
  NodeName result;
  result.name = lexer.peek() == '"' ? lexer.string() : lexer.word(stops, what);
  if (lexer.accept("#")) result.instance = lexer.index("@");
  return result;
}

Value parse_value(Lexer& lexer, const Graph& graph) {
  lexer.expect("%");
  const NodeName wanted = parse_node_name(lexer, ",){}@#", "a value");
  const std::string full_name =
      wanted.instance == 0 ? wanted.name : concat(wanted.name, '#', wanted.instance);
  const int node = graph.find_node(full_name);
  if (node < 0) lexer.fail(concat("unknown value %", full_name));
  const int output = lexer.accept("@") ? lexer.index() : 0;
  if (output >= static_cast<int>(graph.node(node).outputs.size()))
    lexer.fail(concat("%", full_name, '@', output, ": its node has ",
                      graph.node(node).outputs.size(), " outputs"));
  return {node, output};
}

Attributes parse_attributes(Lexer& lexer, const OpTable& ops, const OpRecord& op) {
  Attributes attributes = op.make_default();
  if (!lexer.accept("{")) return attributes;
  do {
    const std::string key = lexer.word("=", "an attribute");
    lexer.expect("=");
    AttributeReader reader(lexer, ops, key);
    op.visit(attributes.mutate(), reader);
    if (!reader.found) lexer.fail(concat(op.full_name(), " has no attribute '", key, "'"));
  } while (lexer.accept(","));
  lexer.expect("}");
  return attributes;
}

DType parse_autocast(Lexer& lexer) {
  const std::string word = lexer.word("@", "a format of autocast");
  const std::optional<DType> dtype = parse_dtype(word);
  const bool known = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  if (!known) lexer.fail(concat("expected f32, f16 or bf16 after @autocast=, got '", word, '\''));
  return *dtype;
}

void parse_notes(Lexer& lexer, NodeOptions& options) {
  while (lexer.accept("@")) {
    if (lexer.accept("math=")) {
      options.math = parse_math(lexer.word("", "a math mode"));
    } else if (lexer.accept("origin=")) {
      options.origin = lexer.string();
    } else if (lexer.accept("phase=")) {
      options.phase = parse_phase(lexer.word("@", "a phase"));
    } else if (lexer.accept("autocast=")) {
      options.autocast = parse_autocast(lexer);
    } else if (lexer.accept("file_nodes=")) {
      do {
        const std::string name = lexer.string();
        options.file_nodes.push_back({name, lexer.accept("=") ? lexer.string() : name});
      } while (lexer.accept(","));
    } else {
      lexer.expect("storage=");
      do options.storages.push_back(Storage::parse(lexer.word(",", "a storage")));
      while (lexer.accept(","));
    }
  }
}

void parse_node(Lexer& lexer, const OpTable& ops, Graph& graph) {
  NodeOptions options;
  NodeName made_name = parse_node_name(lexer, "=#", "a node's name");
  options.name = std::move(made_name.name);
  options.instance = made_name.instance;
  lexer.expect("=");
  const std::string op_name = lexer.word("({:", "an op");
  const OpRecord* op = ops.find(op_name);
  if (!op) lexer.fail(unknown_op_text(op_name, ops));
  Values inputs;
  if (lexer.accept("(")) {
    do inputs.push_back(lexer.accept("_") ? absent : parse_value(lexer, graph));
    while (lexer.accept(","));
    lexer.expect(")");
  }
  Attributes attributes = parse_attributes(lexer, ops, *op);
  TensorTypes types;
  if (lexer.accept(":")) {
    do types.push_back(TensorType::parse(lexer.balanced(",", "a type")));
    while (lexer.accept(","));
  }
  parse_notes(lexer, options);
  if (op == &record_of<Input>()) {
    graph.input(options.name, attributes.as<Input>().type);
    return;
  }
  const std::string full_name = options.name;
  const Value value = graph.add(*op, std::move(attributes), std::move(inputs), std::move(options));
  const std::size_t outputs = graph.producer(value).outputs.size();
  if (types.size() > outputs)
    lexer.fail(concat("node '", full_name, "': has ", outputs, " outputs, not ", types.size()));
  for (std::size_t i = 0; i < types.size(); ++i) {
    const TensorTypes::value_type made = graph.type({value.node, static_cast<int>(i)});
    if (made != types[i])
      lexer.fail(concat("node '", full_name, "': output ", i, " is ", made, ", not ", types[i]));
  }
}

Initial parse_initial(Lexer& lexer) {
  const auto pair = [&](Initial::Kind kind) {
    Initial initial{kind, lexer.number(), 0, {}};
    if (lexer.accept(",")) initial.b = lexer.number();
    lexer.expect(")");
    return initial;
  };
  if (lexer.accept("constant(")) return pair(Initial::Kind::constant);
  if (lexer.accept("uniform(")) return pair(Initial::Kind::uniform);
  if (lexer.accept("normal(")) return pair(Initial::Kind::normal);
  if (lexer.accept("truncated_normal(")) return pair(Initial::Kind::truncated_normal);
  return Initial::of(lexer.tensor());
}

}  // namespace

// What parse_graph collects beside the nodes: state lines come after all nodes.
struct GraphBuilder {
  static void add_state(Graph& graph, State state) { graph.states_.push_back(std::move(state)); }
};

namespace {

void parse_state(Lexer& lexer, const OpTable& ops, Graph& graph) {
  State state;
  state.current = parse_value(lexer, graph);
  state.name = graph.producer(state.current).name;
  state.type = graph.type(state.current);
  lexer.expect("role=");
  state.role = parse_role(lexer.word("", "a role"));
  lexer.expect("initial=");
  state.initial = parse_initial(lexer);
  lexer.expect("next=");
  state.next = parse_value(lexer, graph);
  if (lexer.accept("from=")) {
    lexer.expect("[");
    do state.derived_from.push_back(lexer.string());
    while (lexer.accept(","));
    lexer.expect("]");
    lexer.expect("derivation=");
    state.derivation = std::make_shared<const Graph>(parse_graph(lexer, ops));
  }
  GraphBuilder::add_state(graph, std::move(state));
}

Graph parse_graph(Lexer& lexer, const OpTable& ops) {
  const Lexer::Nesting level(lexer);
  lexer.expect("graph");
  Graph graph(lexer.string());
  lexer.expect("{");
  while (!lexer.accept("}")) {
    if (lexer.accept("%")) {
      parse_node(lexer, ops, graph);
    } else if (lexer.accept("state")) {
      parse_state(lexer, ops, graph);
    } else {
      lexer.expect("output");
      std::string output_name = lexer.string();
      lexer.expect("=");
      graph.output(std::move(output_name), parse_value(lexer, graph));
    }
  }
  return graph;
}

// In a text, a graph that breaks a rule is its writer's mistake; elsewhere it is ours.
void check_rules(Lexer& lexer, const Graph& graph) {
  try {
    verify(graph, Stage::laid_out);
  } catch (const InternalError& error) {
    lexer.fail(error.what());
  }
}

}  // namespace

Attributes parse_attributes(std::string_view text, const OpRecord& op, const OpTable& ops) {
  const std::string braced = text.empty() ? "" : concat('{', text, '}');
  Lexer lexer(braced);
  Attributes attributes = parse_attributes(lexer, ops, op);
  if (!lexer.at_end()) lexer.fail("expected the end");
  return attributes;
}

Graph parse(std::string_view text, const OpTable& ops) {
  Lexer lexer(text);
  try {
    Graph graph = parse_graph(lexer, ops);
    if (!lexer.at_end()) lexer.fail("expected the end");
    check_rules(lexer, graph);
    return graph;
  } catch (const ModelError&) {
    throw;
  } catch (const UsageError& error) {
    lexer.fail(error.what());
  }
}

}  // namespace narrowgauge
