// SPDX-License-Identifier: Apache-2.0
// What a file that is made from a graph says: names, symbols, types, opsets, casts. That every op
// computes the same is tested in all_ops.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "io/onnx/export/export.h"
#include "io/onnx/read.h"
#include "io/onnx_exported.h"
#include "precision/apply.h"
#include "precision/colouring/policy.h"
#include "support/archive.h"

namespace narrowgauge::onnx::onnx_export_test {
namespace {

using namespace testing_export;

std::string refusal(const narrowgauge::Graph& graph) {
  try {
    export_graph(graph);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

std::string text_of(const ValueInfo& info) {
  const auto& tensor = std::get<DenseTensorType>(info.type->kind);
  std::string text = info.name + ' ' + name_of(tensor.element);
  for (const Dimension& dim : tensor.shape->dims)
    text += std::holds_alternative<std::string>(dim.size)
                ? ' ' + std::get<std::string>(dim.size)
                : concat(' ', std::get<std::int64_t>(dim.size));
  return text;
}

std::vector<std::string> texts_of(const std::vector<ValueInfo>& infos) {
  std::vector<std::string> texts;
  for (const ValueInfo& info : infos) texts.push_back(text_of(info));
  return texts;
}

TEST(onnx_export, keeps_names_and_symbols_and_states_the_type_of_every_value) {
  const Model model = exported(R"(
    %x = ng.Input {type=f32[N,4]} : f32[N,4]
    %hidden = Relu(%x) : f32[N,4]
    %y = Neg(%hidden) : f32[N,4]
    output "result" = %y)");
  EXPECT_EQ(texts_of(model.graph.inputs), Names{"x float N 4"});
  EXPECT_EQ(texts_of(model.graph.outputs), Names{"result float N 4"});
  EXPECT_EQ(texts_of(model.graph.value_infos), Names{"hidden float N 4"});
  EXPECT_EQ(model.graph.nodes[1].name, "y");
  EXPECT_EQ(model.graph.nodes[1].outputs, Names{"result"});
  EXPECT_EQ(model.graph.name, "test");
  EXPECT_EQ(model.producer_name, "narrowgauge");
}

TEST(onnx_export, gives_a_value_with_two_names_an_identity) {
  const Model model = exported(R"(
    %x = ng.Input {type=f32[2]} : f32[2]
    %y = Relu(%x) : f32[2]
    output "first" = %y
    output "second" = %y
    output "third" = %x)");
  EXPECT_EQ(ops_of(model.graph), (Names{"Relu", "Identity", "Identity"}));
  EXPECT_EQ(model.graph.nodes[1].inputs, Names{"first"});
  EXPECT_EQ(model.graph.nodes[2].inputs, Names{"x"});
  EXPECT_EQ(model.graph.nodes[2].outputs, Names{"third"});
}

TEST(onnx_export, makes_states_initializers_with_the_values_given) {
  narrowgauge::Graph graph;
  State state;
  state.name = "w";
  state.type = {DType::f32, {2}};
  const Value w = graph.state(state);
  graph.output("y", w);
  EXPECT_NE(refusal(graph).find("node 'w' (ng.State)"), std::string::npos) << refusal(graph);
  const Tensor value = counting({2});
  const Model model = export_graph(graph, {{"w", value}});
  ASSERT_EQ(model.graph.initializers.size(), 1U);
  EXPECT_EQ(model.graph.initializers[0].name, "w");
  EXPECT_TRUE(tensor_of(model.graph.initializers[0]).same_bits(value));
}

TEST(onnx_export, says_open_sizes_as_onnx_can) {
  const Model model = exported(R"(
    %x = ng.Input {type=f32[N,T,6]} : f32[N,T,6]
    %token = ng.Input {type=f32[1,1,6]} : f32[1,1,6]
    %heads = ng.ReshapeTo(%x) {shape=[N,T,2,3]} : f32[N,T,2,3]
    %flat = ng.ReshapeTo(%x) {shape=[N*T,6]} : f32[N*T,6]
    %back = ng.ReshapeTo(%flat) {shape=[N,T,6]} : f32[N,T,6]
    %tokens = ng.ExpandTo(%token) {shape=[N,1,6]} : f32[N,1,6]
    %wide = ng.ExpandTo(%x) {shape=[2,N,T,6]} : f32[2,N,T,6]
    output "heads" = %heads
    output "back" = %back
    output "tokens" = %tokens
    output "wide" = %wide)");
  EXPECT_EQ(std::ranges::count(ops_of(model.graph), "Shape"), 2);  // N of tokens, T of back
  EXPECT_EQ(texts_of(model.graph.outputs), (Names{"heads float N T 2 3", "back float N T 6",
                                                  "tokens float N 1 6", "wide float 2 N T 6"}));
  const ImportOptions options{
      .types = {{"x", {DType::f32, {5, 3, 6}}}, {"token", {DType::f32, {1, 1, 6}}}}};
  const auto got = interpret(import_graph(model, options),
                             std::vector{counting({5, 3, 6}), counting({1, 1, 6})});
  EXPECT_EQ(got[0].type(), (TensorType{DType::f32, {5, 3, 2, 3}}));
  EXPECT_EQ(got[1].type(), (TensorType{DType::f32, {5, 3, 6}}));
  EXPECT_EQ(got[2].type(), (TensorType{DType::f32, {5, 1, 6}}));
  EXPECT_EQ(got[3].type(), (TensorType{DType::f32, {2, 5, 3, 6}}));
}

TEST(onnx_export, refuses_a_size_that_no_value_has) {
  const auto graph = graph_of(R"(
    %x = ng.Input {type=f32[N]} : f32[N]
    %wide = ng.ExpandTo(%x) {shape=[2*N,N]} : f32[2*N,N]
    output "y" = %wide)");
  EXPECT_NE(refusal(graph).find("node 'wide' (ng.ExpandTo): no value has the size N*2"),
            std::string::npos)
      << refusal(graph);
}

TEST(onnx_export, takes_the_oldest_opset_that_has_every_op) {
  const auto opset = [](const std::string& op, const std::string& dtype) {
    const Model model = exported("%x = ng.Input {type=" + dtype + "[2]} : " + dtype +
                                 "[2]\n%y = " + op + "(%x) : " + dtype + "[2]\noutput \"y\" = %y");
    return std::pair(*model.opset_version(), model.ir_version);
  };
  EXPECT_EQ(opset("Gelu", "f32"), std::pair(std::int64_t{21}, std::int64_t{10}));
  EXPECT_EQ(opset("Elu", "f16"), std::pair(std::int64_t{21}, std::int64_t{10}));
  EXPECT_EQ(opset("Elu", "bf16"), std::pair(std::int64_t{22}, std::int64_t{10}));
  EXPECT_EQ(opset("Swish", "f32"), std::pair(std::int64_t{24}, std::int64_t{12}));
  EXPECT_EQ(opset("Celu", "f16"), std::pair(std::int64_t{28}, std::int64_t{14}));
}

TEST(onnx_export, makes_lists_of_the_texts_and_numbers_of_recurrent_ops) {
  const Model model = exported(R"(
    %x = ng.Input {type=f32[3,1,2]} : f32[3,1,2]
    %w = ng.Input {type=f32[1,4,2]} : f32[1,4,2]
    %r = ng.Input {type=f32[1,4,4]} : f32[1,4,4]
    %y = RNN(%x, %w, %r) {activation_alpha=f32[1]{0.5}, activations="LeakyRelu"} : f32[3,1,1,4], f32[1,1,4]
    output "y" = %y@1)");
  const Node& node = node_named(model.graph, "y");
  EXPECT_EQ(*node.get<Names>("activations"), Names{"LeakyRelu"});
  EXPECT_EQ(*node.get<std::vector<float>>("activation_alpha"), std::vector<float>{0.5F});
  EXPECT_EQ(*node.get<std::int64_t>("hidden_size"), 4);
  EXPECT_EQ(node.outputs, (Names{"", "y"}));
}

TEST(onnx_export, keeps_the_casts_of_a_precision_plan) {
  const auto graph = graph_of(R"(
    %x = ng.Input {type=f32[2,4]} : f32[2,4]
    %w = ng.Input {type=f32[4,4]} : f32[4,4]
    %scale = ng.Input {type=f32[4]} : f32[4]
    %product = MatMul(%x, %w) : f32[2,4]
    %norm = LayerNormalization(%product, %scale) : f32[2,4], f32[2,1], f32[2,1]
    %y = Relu(%norm) : f32[2,4]
    output "y" = %y)");
  const auto plan = make_precision_plan(graph, {.narrow = DType::f16});
  const auto narrow = apply(graph, plan);
  const Model model = export_graph(narrow);
  EXPECT_EQ(std::ranges::count(ops_of(model.graph), "MatMul"), 1);
  EXPECT_GE(std::ranges::count(ops_of(model.graph), "Cast"), 3);
  EXPECT_EQ(texts_of(model.graph.outputs), Names{"y float 2 4"});
  std::set<std::string> types;
  for (const ValueInfo& info : model.graph.value_infos)
    if (info.name == "product") types.insert(text_of(info));
  EXPECT_EQ(types, std::set<std::string>{"product float16 2 4"});
}

TEST(onnx_export, refuses_what_onnx_cannot_say_naming_node_and_op) {
  const auto gradient = graph_of(R"(
    %x = ng.Input {type=f32[2]} : f32[2]
    %dx = ng.ReluGradient(%x, %x) : f32[2]
    output "dx" = %dx)");
  EXPECT_EQ(refusal(gradient), "node 'dx' (ng.ReluGradient): ops of the domain ng are not written");
  const auto simulated = graph_of(R"(
    %x = ng.Input {type=f32[2,2]} : f32[2,2]
    %y = MatMul(%x, %x) : f32[2,2] @math=sim:a100
    output "y" = %y)");
  EXPECT_EQ(refusal(simulated), "node 'y' (MatMul): ONNX cannot say that it computes as sim:a100");
}

// Nodes without constants and weights, whose texts are long, in any order.
std::multiset<std::string> lines_of(const narrowgauge::Graph& graph) {
  std::multiset<std::string> lines;
  for (const narrowgauge::Node& node : graph.nodes()) {
    if (is_source(node)) continue;
    std::string line = concat(node.full_name(), " = ", node.op->full_name());
    for (const Value& value : node.inputs)
      line += ' ' + (value.is_absent() ? "_" : graph.value_name(value));
    line += " {" + print_attributes(*node.op, node.attributes) + "}";
    for (const narrowgauge::ValueInfo& output : node.outputs) line += concat(' ', output.type);
    lines.insert(line);
  }
  return lines;
}

TEST(onnx_export, gives_trained_models_back_as_they_were_imported) {
  const auto folder = testing_support::data_folder() / "onnx_models";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder.string();
  int same = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) try {
      const auto graph = import_graph(read_model(entry.path() / "model.onnx"));
      SCOPED_TRACE(entry.path().string());
      EXPECT_EQ(lines_of(import_graph(export_graph(graph))), lines_of(graph));
      ++same;
    } catch (const UnknownValueError&) {
      // Its shapes are known only when it runs.
    }
  EXPECT_GE(same, 7);
}

}  // namespace
}  // namespace narrowgauge::onnx::onnx_export_test
