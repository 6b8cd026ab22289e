// SPDX-License-Identifier: Apache-2.0
// Plans for the networks of model files: what stands before an output, what overrides reach inside
// of regions, and plans that predictions and trainings of one network take from each other.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/engine.h"
#include "narrowgauge/explain.h"
#include "narrowgauge/losses.h"
#include "narrowgauge/model.h"
#include "precision/colouring/policy.h"

namespace narrowgauge::file_plans_test {
namespace {

using testing_support::floats;
using testing_support::integers;
using testing_support::onnx_node;
using testing_support::onnx_value;
using testing_support::SmallModel;

std::string saved(const SmallModel& model) {
  static int files = 0;
  const std::string path = ::testing::TempDir() + concat("file_plans_test", ++files, ".onnx");
  onnx::Model complete = model.model;
  complete.ir_version = 8;
  onnx::write_model(path, complete);
  return path;
}

Tensor weight(std::int64_t rows, std::int64_t columns) {
  Tensor made(DType::f32, {rows, columns});
  for (std::int64_t i = 0; i < made.size(); ++i)
    made.set(i, static_cast<double>(i * 5 % 11) / 8 - 0.6);
  return made;
}

void call(SmallModel& model, const std::string& name) {
  model.model.graph.nodes.back().name = name;
}

PrecisionPlan plan_of(const Graph& graph, std::vector<std::string> overrides = {}) {
  return make_precision_plan(graph, {.narrow = DType::f16, .overrides = std::move(overrides)});
}

std::string format_of(const PrecisionPlan& plan, const std::string& name) {
  const PlanEntry* const entry = plan.find(name);
  if (!entry) return "no such node";
  return entry->dtype ? concat(*entry->dtype) : "-";
}

// What the call says when it refuses; "" if it does not.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

// x -> MatMul -> Relu -> Identity -> y, as TensorFlow's graphs end in what is fetched.
SmallModel fetched() {
  SmallModel model(17);
  model.input("x", "f32[N,4]").initializer("w", weight(4, 4));
  model.node("MatMul", {"x", "w"}, {"h"});
  call(model, "allow1");
  model.node("Relu", {"h"}, {"r"});
  call(model, "clr1");
  model.node("Identity", {"r"}, {"y"});
  call(model, "fetch");
  return model.output("y");
}

TEST(file_plans, what_an_identity_hands_to_an_output_is_no_output_itself) {
  const PrecisionPlan plan = plan_of(fetched().graph());
  EXPECT_EQ(format_of(plan, "allow1"), "f16");
  EXPECT_EQ(format_of(plan, "clr1"), "f16");
  EXPECT_EQ(format_of(plan, "fetch"), "f32");
  EXPECT_EQ(plan.find("fetch")->rule, PrecisionRule::preserved_output);
}

TEST(file_plans, an_identity_that_makes_no_output_is_left_out) {
  SmallModel model(17);
  model.input("x", "f32[N,4]").node("Identity", {"x"}, {"a"}).node("Relu", {"a"}, {"b"});
  model.node("Identity", {"b"}, {"c"}).node("Identity", {"c"}, {"y"}).output("y");
  const Graph graph = model.graph();
  EXPECT_EQ(graph.nodes().size(), 3U) << print(graph);
  EXPECT_EQ(graph.producer(graph.outputs()[0].value).name, "y");
}

// The last op of a function, of a decided If and of a sequence is no output either.
TEST(file_plans, functions_branches_and_sequences_hand_on_as_an_identity_does) {
  SmallModel model = fetched();
  model.model.graph.nodes.pop_back();
  onnx::Function function;
  function.name = "Same";
  function.domain = "local";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.opset_imports = model.model.opset_imports;
  function.nodes = {onnx_node("Identity", {"a"}, {"b"})};
  model.model.functions = {function};
  model.model.opset_imports.emplace_back();
  model.model.opset_imports.back().domain = "local";
  model.model.opset_imports.back().version = 1;
  model.node("Same", {"r"}, {"y"});
  model.model.graph.nodes.back().domain = "local";
  onnx::Graph branch;
  branch.nodes = {onnx_node("Identity", {"r"}, {"inside"})};
  branch.outputs = {onnx_value("inside", "f32[N,4]")};
  model.initializer("true", Tensor::full(DType::boolean, {}, 1));
  model.initializer("zero", integers({}, {0}));
  model.node("If", {"true"}, {"z"},
             {{"then_branch", onnx::Box<onnx::Graph>(branch)},
              {"else_branch", onnx::Box<onnx::Graph>(branch)}});
  model.node("SequenceConstruct", {"r"}, {"s"}).node("SequenceAt", {"s", "zero"}, {"u"});
  const PrecisionPlan plan = plan_of(model.output("z").output("u").graph());
  EXPECT_EQ(format_of(plan, "clr1"), "f16") << print(plan);
}

TEST(file_plans, identities_cost_nothing_once_they_are_planned) {
  const std::string path = saved(fetched());
  Model model = Model::from_onnx(path);
  const Tensor x = floats({1, 4}, {1, 2, 3, 4});
  const Tensor y = model.predict(x);
  for (const KernelReason& kernel : explain_kernels(model, {.binding = {{"N", 1}}}))
    EXPECT_NE(kernel.op, "Identity");
  model.to_onnx(path + ".again");
  EXPECT_TRUE(Model::from_onnx(path + ".again").predict(x).same_bits(y));
}

// y = x * w in each of 3 rounds, and in every round a product that its nodes' names tell apart.
SmallModel looped() {
  onnx::Graph body;
  body.inputs = {onnx_value("i", "i64[]"), onnx_value("go", "bool[]"), onnx_value("h", "f32[2,4]")};
  body.nodes = {onnx_node("MatMul", {"h", "w"}, {"p"}), onnx_node("Tanh", {"p"}, {"next"}),
                onnx_node("Identity", {"go"}, {"on"})};
  body.nodes[0].name = "inner/product";
  body.nodes[1].name = "inner/tanh";
  for (const char* name : {"on", "next"}) {
    body.outputs.emplace_back();
    body.outputs.back().name = name;
  }
  SmallModel model(17);
  model.input("x", "f32[2,4]").initializer("m", integers({}, {3})).initializer("w", weight(4, 4));
  model.initializer("true", Tensor::full(DType::boolean, {}, 1));
  model.node("Loop", {"m", "true", "x"}, {"y"}, {{"body", onnx::Box<onnx::Graph>(body)}});
  call(model, "rounds of it");
  model.node("Relu", {"y"}, {"z"});
  return model.output("z");
}

TEST(file_plans, overrides_reach_into_regions_by_path_and_by_the_names_of_the_file) {
  const Graph graph = looped().graph();
  EXPECT_EQ(format_of(plan_of(graph), "rounds of it:body:inner/product"), "f16");
  for (const char* pattern :
       {"rounds of it:body:inner/product", "inner/product", "inner/pr*", "*product", "rounds*"}) {
    const PrecisionPlan plan = plan_of(graph, {concat(pattern, "=f32")});
    EXPECT_EQ(format_of(plan, "rounds of it:body:inner/product"), "f32") << pattern;
  }
  const PrecisionPlan other = plan_of(graph, {"inner/tanh=f32"});
  EXPECT_EQ(format_of(other, "rounds of it:body:inner/product"), "f16");
  EXPECT_NE(refusal([&] { plan_of(graph, {"inner/prodct=f32"}); }).find("no node of this"),
            std::string::npos);
  EXPECT_EQ(read_plan(print(other), graph), other);
}

// Twice the rows in each of 3 rounds, so that these become nodes one after another, with a product
// in each; outside of the loop a node is called as that of the second round would be.
SmallModel growing() {
  onnx::Graph body;
  body.inputs = {onnx_value("i", "i64[]"), onnx_value("go", "bool[]"), onnx_value("h", "f32[M,4]")};
  body.nodes = {onnx_node("MatMul", {"h", "w"}, {"p"}),
                onnx_node("Concat", {"h", "p"}, {"next"}, {{"axis", std::int64_t{0}}}),
                onnx_node("Identity", {"go"}, {"on"})};
  body.nodes[0].name = "product";
  for (const char* name : {"on", "next"}) {
    body.outputs.emplace_back();
    body.outputs.back().name = name;
  }
  SmallModel model(17);
  model.input("x", "f32[2,4]").initializer("m", integers({}, {3})).initializer("w", weight(4, 4));
  model.initializer("true", Tensor::full(DType::boolean, {}, 1));
  model.node("Loop", {"m", "true", "x"}, {"y"}, {{"body", onnx::Box<onnx::Graph>(body)}});
  call(model, "rounds");
  model.node("MatMul", {"y", "w"}, {"z"});
  call(model, "product_2");
  model.node("Relu", {"z"}, {"r"});
  return model.output("r");
}

// The formats of all products, in the order of the graph.
std::string products(const PrecisionPlan& plan) {
  std::string formats;
  for (const PlanEntry& entry : plan.entries)
    if (entry.op == "MatMul") formats += concat(entry.name, ' ', *entry.dtype, ' ');
  return formats;
}

TEST(file_plans, overrides_reach_all_rounds_of_a_loop_that_is_written_out) {
  const Graph graph = growing().graph();
  EXPECT_EQ(products(plan_of(graph)), "product f16 product_3 f16 product_4 f16 product_2 f16 ");
  for (const char* pattern : {"product", "rounds:body:product", "rounds:*", "*:product"})
    EXPECT_EQ(products(plan_of(graph, {concat(pattern, "=f32")})),
              "product f32 product_3 f32 product_4 f32 product_2 f16 ")
        << pattern;
  EXPECT_EQ(products(plan_of(graph, {"product=f32", "product_3=f16"})),
            "product f32 product_3 f16 product_4 f32 product_2 f16 ");
  EXPECT_EQ(products(plan_of(graph, {"product_2=f32"})),
            "product f16 product_3 f16 product_4 f16 product_2 f32 ");
}

// A function that is called twice, with a product and a sigmoid times its argument inside.
TEST(file_plans, overrides_reach_all_calls_of_a_function_and_forms_inside) {
  onnx::Function function;
  function.name = "Block";
  function.domain = "local";
  function.inputs = {"a"};
  function.outputs = {"b"};
  SmallModel model = fetched();
  function.opset_imports = model.model.opset_imports;
  function.nodes = {onnx_node("MatMul", {"a", "a"}, {"p"}), onnx_node("Sigmoid", {"p"}, {"s"}),
                    onnx_node("Mul", {"p", "s"}, {"b"})};
  const char* const names[] = {"product", "gate", "gated"};
  for (std::size_t i = 0; i < 3; ++i) function.nodes[i].name = names[i];
  model.model.functions = {function};
  model.model.opset_imports.emplace_back();
  model.model.opset_imports.back().domain = "local";
  model.model.opset_imports.back().version = 1;
  model.model.graph.inputs[0] = onnx_value("x", "f32[4,4]");
  for (const auto& [from, to] : {std::pair("r", "c"), std::pair("c", "d")}) {
    model.node("Block", {from}, {to});
    model.model.graph.nodes.back().domain = "local";
    call(model, concat("block ", to));
  }
  model.node("MatMul", {"d", "w"}, {"e"}).node("Relu", {"e"}, {"z"}).output("z");
  const Graph graph = Model::from_onnx(saved(model)).graph(Mode::evaluate);
  const auto formats = [&](std::vector<std::string> overrides) {
    const PrecisionPlan plan = plan_of(graph, std::move(overrides));
    std::string text;
    for (const char* const name : {"product", "gated", "product_2", "gated_2"})
      text += format_of(plan, name) + ' ';
    return text;
  };
  EXPECT_EQ(formats({}), "f16 f16 f16 f16 ");
  EXPECT_EQ(formats({"product=f32"}), "f32 f32 f32 f32 ");
  EXPECT_EQ(formats({"gate=f32"}), "f16 f32 f16 f32 ");
  EXPECT_EQ(formats({"block c:gate=f32"}), "f16 f32 f16 f16 ");
  EXPECT_EQ(formats({"block d:*=f32"}), "f16 f16 f32 f32 ");
  EXPECT_EQ(formats({"gated=f32", "gated_2=f16"}), "f16 f32 f16 f16 ");
  EXPECT_EQ(refusal([&] {
              formats({"gate=f32", "gated=bf16"});
            }),
            "precision: override 'gate=f32' and override 'gated=bf16' differ, and name nodes that "
            "became one, Swish 'gated'");
  EXPECT_NE(refusal([&] { formats({"gte=f32"}); }).find("did you mean gate?"), std::string::npos);
}

TEST(file_plans, nothing_is_overridden_in_silence_where_nothing_is_narrow) {
  const Graph graph = looped().graph();
  const auto said = [&](const std::string& text) {
    return refusal([&] { make_precision_plan(graph, {.overrides = {text}}); });
  };
  EXPECT_NE(said("inner/prodct=f32").find("no node of this name"), std::string::npos);
  EXPECT_NE(said("inner/product=f16").find("f32 was asked for"), std::string::npos);
  EXPECT_EQ(said("inner/product=f32"), "");
  Model model = Model::from_onnx(saved(looped()));
  EXPECT_THROW(model.set_precision({.overrides = {"inner/product=f32"}, .in_f64 = true}),
               UsageError);
}

// Exporters count the nodes of each graph anew.
TEST(file_plans, nodes_of_regions_keep_names_that_captured_values_have_too) {
  onnx::Graph branch;
  branch.nodes = {onnx_node("Relu", {"a"}, {"r"}), onnx_node("MatMul", {"r", "w"}, {"inside"})};
  branch.nodes[1].name = "MatMul_0";
  branch.outputs = {onnx_value("inside", "f32[2,4]")};
  SmallModel model(17);
  model.input("x", "f32[2,4]").input("p", "bool[]").initializer("w", weight(4, 4));
  model.node("MatMul", {"x", "w"}, {"a"});
  call(model, "MatMul_0");
  model.node("If", {"p"}, {"y"},
             {{"then_branch", onnx::Box<onnx::Graph>(branch)},
              {"else_branch", onnx::Box<onnx::Graph>(branch)}});
  call(model, "choice");
  const Graph graph = model.output("y").graph();
  const PrecisionPlan plan = plan_of(graph, {"choice:then_branch:MatMul_0=f32"});
  EXPECT_EQ(format_of(plan, "choice:then_branch:MatMul_0"), "f32");
  EXPECT_EQ(format_of(plan, "choice:else_branch:MatMul_0"), "f16");
  EXPECT_EQ(format_of(plan, "MatMul_0"), "f16");
}

TEST(file_plans, ops_of_older_opsets_keep_the_names_of_their_nodes) {
  SmallModel model(11);
  model.input("x", "f32[2,3,4]").node("Softmax", {"x"}, {"s"}, {{"axis", std::int64_t{1}}});
  call(model, "head");
  const Graph graph = model.node("Relu", {"s"}, {"y"}).output("y").graph();
  EXPECT_EQ(graph.node(graph.find_node("head")).op->full_name(), "Softmax");
  for (const Node& node : graph.nodes())
    EXPECT_TRUE(node.name == "x" || node.name == "y" || node.name.starts_with("head")) << node.name;
}

// Two products, with names that need quotes, and a node called as another.
std::string classifier() {
  SmallModel model(17);
  model.input("images", "f32[N,4]").initializer("w", weight(4, 8)).initializer("v", weight(8, 3));
  model.node("MatMul", {"images", "w"}, {"h"});
  call(model, "first \"product\" # 1");
  model.node("Relu", {"h"}, {"r"});
  call(model, "same");
  model.node("Tanh", {"r"}, {"t"});
  call(model, "same");
  model.node("MatMul", {"t", "v"}, {"scores"}).node("Identity", {"scores"}, {"logits"});
  return saved(model.output("logits"));
}

constexpr const char* first_product = "first \"product\" # 1";

Optimizer mixed(Optimizer optimizer) {
  enable_mixed_precision(optimizer, DType::bf16);
  return optimizer;
}

// The model's plan with the first product in f32.
PrecisionPlan edited(PrecisionPlan plan) {
  for (PlanEntry& entry : plan.entries)
    if (entry.name == first_product) {
      entry.dtype = DType::f32;
      entry.math = plan.f32_math;
      entry.rule = PrecisionRule::edited;
    }
  return plan;
}

TEST(file_plans, a_training_follows_a_plan_of_predictions) {
  const std::string path = classifier();
  Model model = Model::from_onnx(path);
  const PrecisionPlan plan =
      edited(make_precision_plan(model.graph(Mode::evaluate), {.narrow = DType::bf16}));
  const Trainer trainer(model, softmax_cross_entropy(), sgd(0.1), {.plan_text = print(plan)});
  EXPECT_EQ(format_of(trainer.plan(), first_product), "f32");
  EXPECT_EQ(format_of(trainer.plan(), "scores"), "bf16");
  EXPECT_EQ(trainer.plan().narrow, DType::bf16);
  const std::string text = print(trainer.plan());
  EXPECT_EQ(read_plan(text, trainer.graph()), trainer.plan());
  bool backward = false;
  for (const PlanEntry& entry : trainer.plan().entries)
    backward = backward ||
               (entry.dtype == DType::bf16 && entry.name.find("gradient") != std::string::npos);
  EXPECT_TRUE(backward) << text;
}

TEST(file_plans, predictions_and_other_trainings_follow_a_plan_of_a_training) {
  const std::string path = classifier();
  Model trained = Model::from_onnx(path);
  const Trainer trainer(trained, softmax_cross_entropy(), mixed(sgd(0.1)));
  const std::string text = print(edited(trainer.plan()));
  Model model = Model::from_onnx(path);
  const PrecisionPlan followed = read_plan(text, model.graph(Mode::evaluate));
  EXPECT_EQ(format_of(followed, first_product), "f32");
  EXPECT_EQ(format_of(followed, "scores"), "bf16");
  EXPECT_EQ(read_plan(print(followed), model.graph(Mode::evaluate)), followed);
  model.set_plan(followed);
  EXPECT_EQ(format_of(make_precision_plan(model.graph(Mode::evaluate), {}), "scores"), "f32");
  EXPECT_EQ(explain(model).node(first_product).entry.dtype, DType::f32);
  EXPECT_EQ(explain(model).node("scores").entry.dtype, DType::bf16);
  const Trainer adams(model, softmax_cross_entropy(), adam(0.1), {.plan_text = text});
  EXPECT_EQ(format_of(adams.plan(), first_product), "f32");
  EXPECT_EQ(format_of(adams.plan(), "scores"), "bf16");
}

TEST(file_plans, a_plan_of_another_network_is_refused_everywhere) {
  Model model = Model::from_onnx(classifier());
  Model other("other", [](Network& net) {
    return net.linear(net.input("x", {net.batch(), 4}), 3);
  });
  const PrecisionPlan plan =
      make_precision_plan(other.graph(Mode::evaluate), {.narrow = DType::bf16});
  const PrecisionPlan of_training = Trainer(other, softmax_cross_entropy(), mixed(sgd(0.1))).plan();
  for (const PrecisionPlan& each : {plan, of_training}) {
    const auto said = [](const std::string& text) {
      EXPECT_NE(text.find("the plan belongs to another model: 'other'"), std::string::npos) << text;
      EXPECT_EQ(text.find('\n'), std::string::npos);
    };
    said(refusal([&] { read_plan(print(each), model.graph(Mode::evaluate)); }));
    said(refusal([&] { model.set_plan(each); }));
    said(refusal(
        [&] { Trainer(model, softmax_cross_entropy(), sgd(0.1), {.plan_text = print(each)}); }));
    said(refusal([&] { convert(model, {.plan = each}); }));
  }
}

TEST(file_plans, an_engine_is_in_the_formats_of_a_plan) {
  Model model = Model::from_onnx(classifier());
  const PrecisionPlan plan =
      edited(make_precision_plan(model.graph(Mode::evaluate), {.narrow = DType::bf16}));
  const Engine engine = convert(model, {.plan = plan});
  EXPECT_EQ(engine.report().precision, EnginePrecision::bf16);
  ASSERT_EQ(engine.report().ops.size(), 2U);
  EXPECT_EQ(engine.report().ops[0].precision, "f32");
  EXPECT_EQ(engine.report().ops[1].precision, "bf16");
  model.set_plan(plan);
  const Tensor x = floats({1, 4}, {1, 2, 3, 4});
  const Tensor expected = model.predict(x), got = engine.predict(x);
  for (std::int64_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got.at(i), expected.at(i), 1e-2);
  EXPECT_THROW(convert(model, {.precision = EnginePrecision::int8, .plan = plan}), UsageError);
}

// What a training keeps beside its weights for predictions names no node that only it had.
TEST(file_plans, plans_of_saved_weights_are_read_again) {
  const std::string path = classifier(),
                    weights = ::testing::TempDir() + "file_plans_test.safetensors";
  Model trained = Model::from_onnx(path);
  const Trainer trainer(trained, softmax_cross_entropy(), mixed(sgd(0.1)));
  trained.save(weights);
  Model model = Model::from_onnx(path);
  model.load(weights);
  EXPECT_EQ(explain(model).node("scores").entry.dtype, DType::bf16);
}

}  // namespace
}  // namespace narrowgauge::file_plans_test
