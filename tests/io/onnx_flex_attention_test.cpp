// SPDX-License-Identifier: Apache-2.0
// FlexAttention with sizes that are not known, and nodes of it that cannot be imported.
#include <gtest/gtest.h>

#include <limits>

#include "io/onnx/import.h"
#include "ops/composition/interpret.h"

namespace narrowgauge::onnx::onnx_flex_attention_test {
namespace {

Attribute attribute(std::string name, AttributeValue value) {
  Attribute made;
  made.name = std::move(name);
  made.type = static_cast<AttributeType>(value.index());
  made.value = std::move(value);
  return made;
}

Node node(std::string domain, std::string op, std::vector<std::string> inputs, std::string output) {
  Node made;
  made.domain = std::move(domain);
  made.op_type = std::move(op);
  made.inputs = std::move(inputs);
  made.outputs = {std::move(output)};
  return made;
}

std::vector<ValueInfo> infos(const std::vector<std::string>& names) {
  std::vector<ValueInfo> made;
  for (const std::string& name : names) {
    made.emplace_back();
    made.back().name = name;
  }
  return made;
}

// A graph of one node: inputs -> y.
Graph graph_of(Node only, const std::vector<std::string>& inputs) {
  Graph graph;
  graph.name = "g";
  graph.inputs = infos(inputs);
  graph.outputs = infos(only.outputs);
  graph.nodes.push_back(std::move(only));
  return graph;
}

AttributeValue modifier(Node only, const std::vector<std::string>& inputs) {
  return Box<Graph>(graph_of(std::move(only), inputs));
}

struct Types {
  std::string q = "f32[2,4,3,8]", k = "f32[2,2,5,8]", v = "f32[2,2,5,6]";
};

narrowgauge::Graph imported(const Types& types, std::vector<Attribute> attributes = {}) {
  Node attention = node("ai.onnx.preview", "FlexAttention", {"q", "k", "v"}, "y");
  attention.attributes = std::move(attributes);
  Model model;
  model.graph = graph_of(std::move(attention), {"q", "k", "v"});
  ImportOptions options;
  options.types = {{"q", TensorType::parse(types.q)},
                   {"k", TensorType::parse(types.k)},
                   {"v", TensorType::parse(types.v)}};
  return import_graph(model, options);
}

TensorType type_of_y(const narrowgauge::Graph& graph) {
  return graph.type(graph.outputs().at(0).value);
}

void expect_refused(const Types& types, std::vector<Attribute> attributes = {}) {
  try {
    imported(types, std::move(attributes));
    ADD_FAILURE() << "was imported";
  } catch (const ModelError& error) {
    EXPECT_TRUE(
        std::string(error.what()).starts_with("node (ai.onnx.preview.FlexAttention) for 'y': "))
        << error.what();
  }
}

TEST(flex_attention, takes_batch_and_lengths_that_are_not_known) {
  const auto graph =
      imported({"f32[N,4,T,8]", "f32[N,2,S,8]", "f32[N,2,S,6]"},
               {attribute("score_mod", modifier(node("", "Neg", {"s"}, "m"), {"s"}))});
  EXPECT_EQ(type_of_y(graph), TensorType::parse("f32[N,4,T,6]"));
}

// Values are one for each head of v: the mean over equal scores is that one.
TEST(flex_attention, gives_each_group_of_heads_its_own_values) {
  const auto graph = imported({});
  Tensor v(DType::f32, {2, 2, 5, 6});
  for (std::int64_t i = 0; i < v.size(); ++i) v.set(i, static_cast<double>(i / 30));
  const Tensor inputs[] = {Tensor(DType::f32, {2, 4, 3, 8}), Tensor(DType::f32, {2, 2, 5, 8}), v};
  const Tensor y = interpret(graph, inputs).at(0);
  ASSERT_EQ(y.dims(), (Dims{2, 4, 3, 6}));
  for (std::int64_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(y.at(i), static_cast<double>(i / 36), 1e-6) << i;
}

TEST(flex_attention, may_take_the_softmax_in_another_format) {
  const std::int64_t f64 = 11;
  EXPECT_EQ(type_of_y(imported({}, {attribute("softmax_precision", f64)})),
            TensorType::parse("f32[2,4,3,6]"));
  const std::int64_t i64 = 7;
  for (const std::int64_t wrong : {std::int64_t{0}, i64, std::int64_t{99}})
    expect_refused({}, {attribute("softmax_precision", wrong)});
}

TEST(flex_attention, refuses_shapes_that_do_not_fit) {
  expect_refused({.q = "f32[2,3,8]"});
  expect_refused({.q = "f32[2,3,3,8]"});
  expect_refused({.q = "f32[2,H,3,8]"});
  expect_refused({.q = "f32[2,4,3,7]"});
  expect_refused({.q = "f32[2,4,3,0]", .k = "f32[2,2,5,0]"});
  expect_refused({.k = "f32[2,0,5,8]", .v = "f32[2,0,5,6]"});
  expect_refused({.v = "f32[2,2,4,6]"});
  expect_refused({.v = "f32[2,2,5]"});
  expect_refused({.v = "f16[2,2,5,6]"});
}

TEST(flex_attention, refuses_nodes_that_lack_an_input) {
  for (const std::vector<std::string>& inputs :
       {std::vector<std::string>{}, {"q"}, {"q", "", "k"}, {"", "q", "q"}}) {
    Model model;
    model.graph = graph_of(node("ai.onnx.preview", "FlexAttention", inputs, "y"), {"q", "k"});
    ImportOptions options;
    options.types = {{"q", TensorType::parse("f32[2,4,3,8]")},
                     {"k", TensorType::parse("f32[2,4,3,8]")}};
    EXPECT_THROW(import_graph(model, options), ModelError);
  }
}

TEST(flex_attention, refuses_scales_that_are_none) {
  for (const float scale :
       {-1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    expect_refused({}, {attribute("scale", scale)});
}

TEST(flex_attention, refuses_modifiers_that_change_the_type) {
  for (const char* const which : {"score_mod", "prob_mod"}) {
    expect_refused({}, {attribute(which, modifier(node("", "Neg", {"s"}, "m"), {"s", "t"}))});
    expect_refused({}, {attribute(which, modifier(node("", "IsNaN", {"s"}, "m"), {"s"}))});
    expect_refused({}, {attribute(which, modifier(node("", "Flatten", {"s"}, "m"), {"s"}))});
    expect_refused({}, {attribute(which, std::int64_t{1})});
  }
}

}  // namespace
}  // namespace narrowgauge::onnx::onnx_flex_attention_test
