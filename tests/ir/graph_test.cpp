// SPDX-License-Identifier: Apache-2.0
// What a graph takes and refuses as it is built.
#include "narrowgauge/graph.h"

#include <gtest/gtest.h>

#include "ops/activation/relu.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/table.h"

namespace narrowgauge::graph_test {
namespace {

const TensorType two = TensorType::parse("f32[2]");

State state_of(std::string name) {
  State state;
  state.name = std::move(name);
  state.type = two;
  return state;
}

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(graph, a_name_that_is_taken_gets_a_number) {
  Graph graph("g");
  EXPECT_EQ(graph.unique_name("x"), "x");
  graph.input("x", two);
  EXPECT_EQ(graph.unique_name("x"), "x_2");
  graph.input("x_2", two);
  EXPECT_EQ(graph.unique_name("x"), "x_3");
  EXPECT_EQ(refusal([&] { graph.input("x", two); }), "graph g: node 'x' exists already");
}

TEST(graph, a_scope_is_of_the_nodes_added_in_it) {
  Graph graph;
  const Value x = graph.input("x", two);
  graph.set_scope({.prefix = "part/", .origin = "whole", .phase = Phase::backward});
  const Value made = graph.add(Relu{}, {x});
  const Value named = graph.add(
      Relu{}, {x}, {.name = "mine", .origin = "other", .phase = Phase::update, .instance = 2});
  graph.set_scope({});
  const Value after = graph.add(Relu{}, {x});
  EXPECT_EQ(graph.producer(made).full_name(), "part/relu");
  EXPECT_EQ(graph.producer(made).origin, "whole");
  EXPECT_EQ(graph.producer(made).phase, Phase::backward);
  EXPECT_EQ(graph.producer(named).full_name(), "mine#2");
  EXPECT_EQ(graph.producer(named).origin, "other");
  EXPECT_EQ(graph.producer(named).phase, Phase::update);
  EXPECT_EQ(graph.producer(after).full_name(), "relu");
  EXPECT_EQ(graph.producer(after).phase, Phase::forward);
}

TEST(graph, nodes_know_the_nodes_of_a_file_that_are_not_called_as_they_are) {
  Graph graph;
  graph.set_scope({.file_nodes = {{"mul", "mul"}}});
  const Value x = graph.input("x", two);
  const Value first = graph.add(Relu{}, {x}, {.name = "mul"});
  const Value second = graph.add(Relu{}, {x}, {.name = "mul_2"});
  const Value other = graph.add(Relu{}, {x}, {.name = "a", .file_nodes = {{"a", "loop:body:a"}}});
  using FileNodes = std::vector<FileNode>;
  EXPECT_EQ(graph.producer(x).file_nodes, FileNodes{});
  EXPECT_EQ(graph.producer(first).file_nodes, FileNodes{});
  EXPECT_EQ(graph.producer(second).file_nodes, (FileNodes{{"mul", "mul"}}));
  EXPECT_EQ(graph.producer(other).file_nodes, (FileNodes{{"a", "loop:body:a"}}));
}

TEST(graph, the_options_of_a_node_make_another_like_it) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[2,3,4,5]"));
  const Value y = graph.add(Relu{}, {x},
                            {.name = "y",
                             .origin = "o",
                             .phase = Phase::update,
                             .instance = 3,
                             .math = Math::tf32,
                             .storages = {Storage::channels_last(4)},
                             .file_nodes = {{"a", "b:a"}}});
  Graph again;
  const Value twin =
      again.add(Relu{}, {again.input("x", graph.type(x))}, options_of(graph.producer(y)));
  EXPECT_EQ(print(again), print(graph));
  EXPECT_EQ(again.info(twin).storage, Storage::channels_last(4));
}

TEST(graph, finds_what_it_holds_by_name) {
  Graph graph("g");
  const Value x = graph.input("x", two);
  const Value k = graph.constant(Tensor::from<float>({2}, std::vector<float>{1, 2}), "k");
  const Value s = graph.state(state_of("s"));
  graph.output("y", k);
  EXPECT_EQ(graph.find_node("k"), k.node);
  EXPECT_EQ(graph.find_node("missing"), -1);
  EXPECT_EQ(graph.find_output("y"), k);
  EXPECT_TRUE(graph.find_output("x").is_absent());
  EXPECT_EQ(graph.find_state("s")->current, s);
  EXPECT_EQ(graph.find_state("x"), nullptr);
  EXPECT_EQ(graph.constant_value(k)->at(1), 2);
  EXPECT_EQ(graph.constant_value(x), nullptr);
  EXPECT_EQ(graph.value_name(x), "x");
  graph.set_name("renamed");
  EXPECT_EQ(graph.name(), "renamed");
}

TEST(graph, a_state_keeps_its_type) {
  Graph graph("g");
  graph.state(state_of("s"));
  const Value other = graph.input("x", TensorType::parse("f32[3]"));
  EXPECT_EQ(refusal([&] { graph.set_next("s", other); }),
            "state 's': holds f32[2], next is f32[3]");
  EXPECT_EQ(refusal([&] { graph.set_next("t", other); }), "graph g: no state 't'");
  EXPECT_EQ(refusal([&] { graph.state(state_of("s")); }), "graph g: state 's' exists already");
}

TEST(graph, an_output_has_its_name_alone) {
  Graph graph("g");
  const Value x = graph.input("x", two);
  graph.output("y", x);
  EXPECT_EQ(refusal([&] { graph.output("y", x); }), "graph g: output 'y' exists already");
  EXPECT_THROW(graph.output("z", {7, 0}), UsageError);
}

TEST(graph, takes_no_values_of_another_graph) {
  Graph first("first"), second("second");
  const Value x = first.input("x", two), own = second.input("x", two);
  const std::string text =
      "a value of another graph than 'second', whose layers take its own alone";
  EXPECT_EQ(refusal([&] {
              second.add(Add{}, {own, x}, {.name = "sum"});
            }),
            "node 'sum': input 1: " + text);
  EXPECT_EQ(refusal([&] { second.output("y", x); }), "graph second: output 'y': " + text);
  EXPECT_EQ(refusal([&] { second.type(x); }), "graph 'second': " + text);
  EXPECT_EQ(refusal([&] { second.type(absent); }), "graph 'second': a value that was never set");
  EXPECT_EQ(refusal([&] { second.value_name(x); }), "graph 'second': " + text);
  EXPECT_EQ(refusal([&] { second.constant_value(absent); }),
            "graph 'second': a value that was never set");
  EXPECT_EQ(refusal([&] { second.type({7, 0}); }), "graph 'second': has no value 7@0");
  second.state(state_of("s"));
  EXPECT_EQ(refusal([&] { second.set_next("s", x); }), "graph 'second': " + text);
}

TEST(graph, a_copy_has_the_same_values) {
  Graph graph("g");
  const Value x = graph.input("x", two);
  Graph copy = graph;
  EXPECT_EQ(copy.type(copy.add(Add{}, {x, x})), two);
  const Graph moved = std::move(copy);
  EXPECT_EQ(moved.type(x), two);
  EXPECT_EQ(moved.inputs()[0], x);
  EXPECT_EQ(moved.inputs()[0].graph, 0U);  // passes take values over by their places
}

TEST(graph, a_refused_node_is_named_and_not_added) {
  Graph graph("g");
  const Value x = graph.input("x", two), whole = graph.input("i", TensorType::parse("i32[2]"));
  const std::string message = refusal([&] { graph.add(Add{}, {x, whole}, {.name = "sum"}); });
  EXPECT_TRUE(message.starts_with("node 'sum': Add: input")) << message;
  EXPECT_EQ(graph.nodes().size(), 2u);
  EXPECT_EQ(graph.unique_name("sum"), "sum");
}

TEST(graph, words_of_roles_and_phases_are_read_as_they_are_written) {
  for (const Role role :
       {Role::parameter, Role::statistic, Role::moment, Role::control, Role::derived})
    EXPECT_EQ(parse_role(name(role)), role);
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
    EXPECT_EQ(parse_phase(name(phase)), phase);
  EXPECT_EQ(refusal([] { parse_role("weights"); }), "state: unknown role 'weights'");
  EXPECT_EQ(refusal([] { parse_phase("sideways"); }), "node: unknown phase 'sideways'");
}

TEST(attributes, are_read_as_they_are_printed) {
  const OpRecord& op = *op_table().find("Conv");
  const std::string text = "group=2, kernel_shape=[3,3], pads=[1,1,1,1]";
  const Attributes read = parse_attributes(text, op, op_table());
  EXPECT_EQ(print_attributes(op, read), text);
  EXPECT_TRUE(equal(op, read, parse_attributes(text, op, op_table())));
  EXPECT_FALSE(equal(op, read, parse_attributes("group=3", op, op_table())));
  EXPECT_EQ(print_attributes(op, parse_attributes("", op, op_table())), "");
  EXPECT_NE(refusal([&] { parse_attributes("colour=2", op, op_table()); }).find("colour"),
            std::string::npos);
}

// Another record of the same name: as if a program brought its own Relu.
TEST(op_table, has_one_op_of_each_name) {
  OpTable table;
  table.add(record_of<Relu>());
  table.add(record_of<Relu>());
  EXPECT_EQ(table.all().size(), 1u);
  EXPECT_EQ(table.find("Relu"), &record_of<Relu>());
  EXPECT_EQ(table.find("Sub"), nullptr);
  const OpRecord own = make_record<Relu>();
  EXPECT_EQ(refusal([&] { table.add(own); }), "op Relu is registered already");
}

// A text may list states in another order than their nodes.
TEST(graph, finds_states_in_any_order_of_a_text) {
  const auto state = [](const std::string& name) {
    return "  state %" + name + " role=parameter initial=constant(0) next=%" + name + "\n";
  };
  Graph graph;
  for (const char* name : {"a", "b", "c"}) graph.state(state_of(name));
  std::string text = print(graph);
  ASSERT_NE(text.find(state("a") + state("b")), text.npos) << text;
  text.replace(text.find(state("a") + state("b")), 2 * state("a").size(), state("b") + state("a"));
  const Graph again = parse(text, op_table());
  EXPECT_EQ(print(again), text);
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(again.find_state(name)) << name;
    EXPECT_EQ(again.find_state(name)->name, name);
  }
  EXPECT_FALSE(again.find_state("d"));
}

}  // namespace
}  // namespace narrowgauge::graph_test
