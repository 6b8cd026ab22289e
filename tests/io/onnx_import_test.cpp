// SPDX-License-Identifier: Apache-2.0
// How a model becomes a graph: sizes as symbols, functions, graphs inside nodes, sequences, and
// what is refused.
#include <gtest/gtest.h>

#include "io/onnx_small_model.h"
#include "passes/shapes/bind_shapes.h"
#include "passes/simplify/remove_dead_code.h"
#include "support/count.h"

namespace narrowgauge::testing_support::onnx_import_test {
namespace {

using Numbers = std::vector<double>;

// y = x as [its first axis, all others], as exporters write it.
SmallModel flattened() {
  SmallModel model(17);
  model.input("x", "f32[batch,3,4]").initializer("zero", integers({}, {0}));
  model.initializer("axes", integers({1}, {0})).initializer("rest", integers({1}, {-1}));
  model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "zero"}, {"first"});
  model.node("Unsqueeze", {"first", "axes"}, {"list"});
  model.node("Concat", {"list", "rest"}, {"sizes"}, {{"axis", std::int64_t{0}}});
  return model.node("Reshape", {"x", "sizes"}, {"y"}).output("y");
}

TEST(onnx_import, sizes_stay_symbols) {
  const Graph graph = flattened().graph();
  EXPECT_EQ(concat(graph.type(graph.outputs()[0].value)), "f32[batch,12]");
  const Graph bound = remove_dead_code(bind_shapes(graph, {{"batch", 5}}));
  EXPECT_EQ(concat(bound.type(bound.outputs()[0].value)), "f32[5,12]");
  EXPECT_EQ(count(bound, "Shape") + count(bound, "Gather") + count(bound, "Concat"), 0);
}

TEST(onnx_import, names_and_roles_are_kept) {
  SmallModel model(17);
  model.input("image", "f32[N,2]").initializer("fc.weight", floats({2, 2}, {1, 2, 3, 4}));
  model.initializer("half", floats({}, {0.5}));
  model.node("MatMul", {"image", "fc.weight"}, {"h"}).node("Mul", {"h", "half"}, {"scores"});
  const Graph graph = model.output("scores").graph();
  EXPECT_EQ(graph.value_name(graph.inputs()[0]), "image");
  EXPECT_EQ(graph.outputs()[0].name, "scores");
  ASSERT_EQ(graph.states().size(), 1U);
  EXPECT_EQ(graph.states()[0].name, "fc.weight");
  EXPECT_EQ(graph.states()[0].role, Role::parameter);
  EXPECT_TRUE(model.graph({.parameters = false}).states().empty());
}

TEST(onnx_import, functions_take_attributes_and_defaults) {
  SmallModel model(17);
  onnx::Function function;
  function.name = "Scaled";
  function.domain = "local";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.opset_imports = model.model.opset_imports;
  onnx::Attribute fallback;
  fallback.name = "by";
  fallback.type = onnx::AttributeType::number;
  fallback.value = 3.f;
  function.default_attributes = {fallback};
  onnx::Node constant = onnx_node("Constant", {}, {"c"}, {{"value_float", 0.f}});
  constant.attributes[0].ref_attr_name = "by";
  function.nodes = {constant, onnx_node("Mul", {"a", "c"}, {"b"})};
  model.model.functions = {function};
  model.input("x", "f32[1]");
  model.node("Scaled", {"x"}, {"y"}).node("Scaled", {"y"}, {"z"}, {{"by", 5.f}}).output("z");
  for (onnx::Node& node : model.model.graph.nodes) node.domain = "local";
  EXPECT_EQ(numbers_of(model.run({floats({1}, {2})})[0]), Numbers{30});

  model.model.functions[0].nodes[1] = onnx_node("Scaled", {"a"}, {"b"});
  model.model.functions[0].nodes[1].domain = "local";
  EXPECT_THROW(model.graph(), ModelError);
}

onnx::Graph branch(const std::string& op, const std::string& read) {
  onnx::Graph graph;
  graph.nodes = {onnx_node(op, {read}, {"out"})};
  graph.outputs.emplace_back();
  graph.outputs[0].name = "out";
  return graph;
}

SmallModel choice() {
  SmallModel model(17);
  model.input("cond", "bool[]").input("x", "f32[2]").node("Neg", {"x"}, {"minus"});
  return model
      .node("If", {"cond"}, {"y"},
            {{"then_branch", onnx::Box<onnx::Graph>(branch("Abs", "minus"))},
             {"else_branch", onnx::Box<onnx::Graph>(branch("Identity", "x"))}})
      .output("y");
}

TEST(onnx_import, branches_capture_what_they_read) {
  const SmallModel model = choice();
  EXPECT_EQ(count(model.graph(), "If"), 1);
  const Tensor x = floats({2}, {-1, 2});
  EXPECT_EQ(numbers_of(model.run({Tensor::full(DType::boolean, {}, 1), x})[0]), (Numbers{1, 2}));
  EXPECT_EQ(numbers_of(model.run({Tensor::full(DType::boolean, {}, 0), x})[0]), (Numbers{-1, 2}));
}

TEST(onnx_import, parameters_are_prepared_outside_of_branches) {
  onnx::Graph body = branch("Neg", "w");
  body.nodes = {onnx_node("Neg", {"w"}, {"v"}), onnx_node("Mul", {"x", "v"}, {"out"})};
  SmallModel model(17);
  model.input("cond", "bool[]").input("x", "f32[2]").initializer("w", floats({2}, {3, 4}));
  model.node("If", {"cond"}, {"y"},
             {{"then_branch", onnx::Box<onnx::Graph>(body)},
              {"else_branch", onnx::Box<onnx::Graph>(branch("Abs", "x"))}});
  const Graph graph = model.output("y").graph();
  EXPECT_EQ(count(graph, "Neg"), 1) << print(graph);
  const Tensor x = floats({2}, {-1, 2});
  EXPECT_EQ(numbers_of(model.run({Tensor::full(DType::boolean, {}, 1), x})[0]), (Numbers{3, -8}));
  EXPECT_EQ(numbers_of(model.run({Tensor::full(DType::boolean, {}, 0), x})[0]), (Numbers{1, 2}));
}

TEST(onnx_import, a_known_condition_leaves_one_branch) {
  const Graph graph =
      choice().graph({.known = {{"cond", {{Tensor::full(DType::boolean, {}, 1)}}}}});
  EXPECT_EQ(count(graph, "If"), 0);
  EXPECT_EQ(count(graph, "Abs"), 1);
}

// Adds x in each of M rounds, and stacks the sums; `grows` concatenates instead.
SmallModel loop(bool grows) {
  onnx::Graph body;
  body.inputs = {onnx_value("i", "i64[]"), onnx_value("go", "bool[]"), onnx_value("sum", "f32[1]")};
  body.nodes = {onnx_node("Identity", {"go"}, {"on"})};
  if (grows)
    body.nodes.push_back(onnx_node("Concat", {"sum", "x"}, {"next"}, {{"axis", std::int64_t{0}}}));
  else
    body.nodes.push_back(onnx_node("Add", {"sum", "x"}, {"next"}));
  body.nodes.push_back(onnx_node("ReduceSum", {"next"}, {"total"}));
  for (const char* name : {"on", "next", "total"}) {
    body.outputs.emplace_back();
    body.outputs.back().name = name;
  }
  SmallModel model(17);
  model.input("x", "f32[1]").initializer("m", integers({}, {3}));
  model.initializer("true", Tensor::full(DType::boolean, {}, 1));
  model.node("Loop", {"m", "true", "x"}, {"y", "all"}, {{"body", onnx::Box<onnx::Graph>(body)}});
  return model.output("y").output("all");
}

TEST(onnx_import, loops_are_ops_or_unrolled) {
  EXPECT_EQ(count(loop(false).graph(), "Loop"), 1);
  const auto sums = loop(false).run({floats({1}, {2})});
  EXPECT_EQ(numbers_of(sums[0]), Numbers{8});
  EXPECT_EQ(numbers_of(sums[1]), (Numbers{4, 6, 8}));
  EXPECT_EQ(count(loop(true).graph(), "Loop"), 0);
  EXPECT_EQ(loop(true).run({floats({1}, {2})})[0].dims(), Dims{4});
}

TEST(onnx_import, sequences_end_with_the_import) {
  SmallModel model(17);
  model.input("x", "f32[4,1]").initializer("one", integers({}, {1}));
  model.node("SplitToSequence", {"x", "one"}, {"s"}).node("SequenceErase", {"s", "one"}, {"t"});
  model.node("SequenceInsert", {"t", "x"}, {"u"}).node("SequenceLength", {"u"}, {"n"});
  model.node("ConcatFromSequence", {"u"}, {"y"}, {{"axis", std::int64_t{0}}});
  model.output("y").output("n").output("t");
  const auto results = model.run({floats({4, 1}, {1, 2, 3, 4})});
  EXPECT_EQ(numbers_of(results[0]), (Numbers{1, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(numbers_of(results[1]), Numbers{4});
  const Graph graph = model.graph();
  EXPECT_EQ(graph.outputs()[2].name, "t[0]");
  EXPECT_EQ(graph.outputs().size(), 5U);
}

TEST(onnx_import, what_only_a_run_knows_is_said) {
  SmallModel model(17);
  model.input("x", "f32[4]").input("sizes", "i64[2]").node("Reshape", {"x", "sizes"}, {"y"});
  model.output("y");
  EXPECT_THROW(model.graph(), UnknownValueError);
  const Graph graph = model.graph({.known = {{"sizes", {{integers({2}, {2, 2})}}}}});
  EXPECT_EQ(concat(graph.type(graph.outputs()[0].value)), "f32[2,2]");
}

std::string refusal(const SmallModel& model) {
  try {
    model.graph();
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

TEST(onnx_import, refusals_name_the_node) {
  SmallModel unknown(17);
  unknown.input("x", "f32[2]").node("Rleu", {"x"}, {"y"}).output("y");
  EXPECT_NE(refusal(unknown).find("(Rleu) for 'y': unknown op 'Rleu'"), std::string::npos);
  SmallModel attribute(17);
  attribute.input("x", "f32[2]").node("Relu", {"x"}, {"y"}, {{"slope", 1.f}}).output("y");
  EXPECT_NE(refusal(attribute).find("no attribute 'slope'"), std::string::npos);
  SmallModel missing(17);
  missing.node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_NE(refusal(missing).find("nothing makes the value 'x'"), std::string::npos);
  SmallModel sequence(17);
  sequence.node("SequenceEmpty", {}, {"s"}).node("Relu", {"s"}, {"y"}).output("y");
  EXPECT_NE(refusal(sequence).find("must be a tensor"), std::string::npos);
  SmallModel types(17);
  types.input("x", "f32[2]").input("n", "i64[2]").node("Add", {"x", "n"}, {"y"}).output("y");
  EXPECT_NE(refusal(types).find("(Add) for 'y': "), std::string::npos);
}

TEST(onnx_import, a_scan_without_its_input_is_refused) {
  onnx::Graph body;
  body.inputs = {onnx_value("row", "f32[2]")};
  body.outputs = body.inputs;
  SmallModel model(17);
  model.node("Scan", {""}, {"y"},
             {{"body", onnx::Box<onnx::Graph>(body)}, {"num_scan_inputs", std::int64_t{1}}});
  EXPECT_NE(refusal(model.output("y")).find("input 0 is missing"), std::string::npos);
}

SmallModel sparse(const Tensor& indices, Dims dims) {
  SmallModel model(17);
  onnx::SparseTensor tensor;
  tensor.values = onnx::tensor_data_of(floats({2}, {5, 7}), "w");
  tensor.indices = onnx::tensor_data_of(indices);
  tensor.dims = std::move(dims);
  model.model.graph.sparse_initializers.push_back(tensor);
  model.input("w", "f32[2,3]");  // as models before IR 4 list it
  return model.node("Neg", {"w"}, {"y"}).output("y");
}

TEST(onnx_import, sparse_initializers_become_dense_parameters) {
  const std::vector<double> expected{0, 5, 0, 0, 0, 7};
  for (const Tensor& indices : {integers({2}, {1, 5}), integers({2, 2}, {0, 1, 1, 2})}) {
    const Graph graph = sparse(indices, {2, 3}).graph();
    ASSERT_EQ(graph.states().size(), 1U);
    EXPECT_EQ(graph.inputs().size(), 0U);
    EXPECT_EQ(numbers_of(graph.states()[0].initial.data), expected);
  }
}

TEST(onnx_import, sparse_initializers_that_do_not_fit_are_refused) {
  EXPECT_NE(refusal(sparse(integers({2}, {1, 6}), {2, 3})).find("index 6"), std::string::npos);
  EXPECT_NE(refusal(sparse(integers({2, 2}, {0, 1, 2, 0}), {2, 3})).find("outside axis 0"),
            std::string::npos);
  EXPECT_NE(refusal(sparse(integers({1}, {1}), {2, 3})).find("has indices i64[1]"),
            std::string::npos);
  EXPECT_NE(refusal(sparse(integers({2}, {0, 1}), {100000, 100000})).find("no more than 2 values"),
            std::string::npos);
}

TEST(onnx_import, few_nodes_that_become_many_are_refused) {
  SmallModel model(17);
  constexpr int levels = 12, each = 10;
  for (int level = 0; level < levels; ++level) {
    onnx::Function function;
    function.name = concat("F", level);
    function.domain = "local";
    function.inputs = {"a"};
    function.outputs = {"b"};
    function.opset_imports = model.model.opset_imports;
    for (int i = 0; i < each; ++i) {
      function.nodes.push_back(
          onnx_node(level == 0 ? "Relu" : concat("F", level - 1), {"a"}, {"b"}));
      if (level > 0) function.nodes.back().domain = "local";
    }
    model.model.functions.push_back(function);
  }
  model.input("x", "f32[1]").node(concat("F", levels - 1), {"x"}, {"y"}).output("y");
  model.model.graph.nodes[0].domain = "local";
  EXPECT_NE(refusal(model).find("nodes"), std::string::npos);
}

}  // namespace
}  // namespace narrowgauge::testing_support::onnx_import_test
