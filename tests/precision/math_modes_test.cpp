// SPDX-License-Identifier: Apache-2.0
// Ways of computing contractions in whole graphs: attention with its gradients and a product in a
// branch, in TF32 and on simulated units; their plans, and what explain says of them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "compile/compile.h"
#include "narrowgauge/explain.h"
#include "narrowgauge/tf32.h"
#include "ops/composition/interpret.h"
#include "ops/control/control_flow.h"
#include "ops/math/matmul.h"
#include "ops/nn/attention.h"
#include "ops/shape/reshape.h"
#include "passes/training/differentiate.h"
#include "precision/apply.h"
#include "precision/colouring/policy.h"
#include "precision/plan_reader.h"
#include "precision/vertices/reasons.h"
#include "runtime/executor.h"

namespace narrowgauge::math_modes_test {
namespace {

Region branch() {
  Graph body("body");
  const Value a = body.input("a", TensorType::parse("f32[3,7]"));
  const Value b = body.input("b", TensorType::parse("f32[7,4]"));
  body.output("y", body.add(MatMul{}, {a, b}, {.name = "product"}));
  return std::make_shared<const Graph>(std::move(body));
}

// Outputs: attention's, the gradients of q, k and v, the branch's.
Graph network() {
  Graph graph("network");
  Values qkv;
  for (const char* name : {"q", "k", "v"})
    qkv.push_back(graph.input(name, TensorType::parse("f32[2,5,8]")));
  const Value y = graph.add(Attention{.q_num_heads = 2}, qkv, {.name = "attention"});
  // An output of the graph itself would stay in f32.
  graph.output("y", graph.add(ReshapeTo{Shape{2, 40}}, {y}));
  const Value dy = graph.input("dy", graph.type(y));
  const Values gradients = append_gradients(graph, std::span(&y, 1), std::span(&dy, 1), qkv);
  for (std::size_t i = 0; i < 3; ++i) graph.output(concat("d", i), gradients[i]);
  const Value condition = graph.constant(Tensor::full(DType::boolean, {}, 1));
  const Value a = graph.input("a", TensorType::parse("f32[3,7]"));
  const Value b = graph.input("b", TensorType::parse("f32[7,4]"));
  graph.output("branch", graph.add(If{.then_branch = branch(), .else_branch = branch()},
                                   {condition, a, b}, {.name = "if"}));
  return graph;
}

std::vector<Tensor> noise(const Graph& graph) {
  std::vector<Tensor> inputs;
  std::mt19937 engine(5);
  std::normal_distribution<double> normal;
  for (const Value& value : graph.inputs()) {
    inputs.emplace_back(DType::f32, known_dims(graph.type(value).shape));
    for (std::int64_t i = 0; i < inputs.back().size(); ++i) inputs.back().set(i, normal(engine));
  }
  return inputs;
}

std::vector<Tensor> run(const Graph& graph, const PrecisionPlan& plan) {
  StateStore store;
  Executor executor(compile(apply(graph, plan), {}), store, 1);
  return executor.run(noise(graph));
}
std::vector<Tensor> run(const Graph& graph, Math math) {
  return run(graph, make_precision_plan(graph, {.f32_math = math}));
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.at(i));
  return values;
}

double worst(const Tensor& got, const std::vector<double>& expected) {
  double largest = 1e-30, error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    error = std::max(error, std::abs(got.at(static_cast<std::int64_t>(i)) - expected[i]));
  }
  return error / largest;
}

struct Between {
  double least, most;
};
void expect_off(const std::vector<Tensor>& got, const std::vector<Tensor>& exact,
                const Between& bound, const std::string& what) {
  for (std::size_t o = 0; o < got.size(); ++o) {
    const double error = worst(got[o], values_of(exact[o]));
    EXPECT_LT(error, bound.most) << what << ", output " << o;
    EXPECT_GT(error, bound.least) << what << ", output " << o;
  }
}

PrecisionPlan mixed(const Graph& graph, DType narrow, std::string_view math) {
  return make_precision_plan(graph, {.narrow = narrow, .f32_math = parse_math(math)});
}

// 11 significant bits, nearest even.
double to_tf32(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

// An element of attention in double, with operands rounded before each product.
double attention_element(const std::vector<Tensor>& in, std::int64_t image, std::int64_t t,
                         std::int64_t w) {
  const auto at = [&](std::size_t i, std::int64_t s, std::int64_t c) {
    return to_tf32(in[i].at((image * 5 + s) * 8 + w / 4 * 4 + c));
  };
  std::vector<double> shares;
  double sum = 0, y = 0;
  for (std::int64_t s = 0; s < 5; ++s) {
    double score = 0;
    for (std::int64_t c = 0; c < 4; ++c) score += at(0, t, c) * at(1, s, c);
    shares.push_back(std::exp(score / 2));
    sum += shares.back();
  }
  for (std::int64_t s = 0; s < 5; ++s)
    y += to_tf32(shares[static_cast<std::size_t>(s)] / sum) * at(2, s, w % 4);
  return y;
}

TEST(math_modes, attention_in_tf32_rounds_the_operands_of_each_of_its_products) {
  const Graph graph = network();
  const std::vector<Tensor> inputs = noise(graph);
  std::vector<double> expected;
  for (std::int64_t i = 0; i < 80; ++i)
    expected.push_back(attention_element(inputs, i / 40, i / 8 % 5, i % 8));
  // A share at a tie may fall to the other side.
  EXPECT_LT(worst(run(graph, Math::tf32)[0], expected), 2e-4);
}

TEST(math_modes, gradients_and_branches_are_off_by_what_the_mode_allows) {
  const Graph graph = network();
  const std::vector<Tensor> exact = run(graph, Math::ieee);
  expect_off(run(graph, Math::tf32), exact, {2e-5, 5e-3}, "tf32");
  expect_off(run(graph, Math::tf32x3), exact, {-1, 3e-6}, "tf32x3");
  expect_off(run(graph, parse_math("sim:a100")), exact, {2e-5, 5e-3}, "sim:a100");
  expect_off(run(graph, parse_math("sim:ieee")), exact, {-1, 3e-6}, "sim:ieee");
  expect_off(run(graph, parse_math("sim:h100:f16")), exact, {2e-5, 5e-3}, "sim:h100:f16");
  expect_off(run(graph, mixed(graph, DType::f16, "sim:a100")), exact, {2e-5, 1e-2}, "f16");
  expect_off(run(graph, mixed(graph, DType::bf16, "sim:h100")), exact, {2e-4, 5e-2}, "bf16");
}

TEST(math_modes, a_product_in_a_branch_is_that_outside) {
  const Graph graph = network();
  const std::vector<Tensor> inputs = noise(graph);
  for (const char* text : {"tf32", "tf32x3", "sim:a100"}) {
    Graph alone("alone");
    const Value a = alone.input("a", inputs[4].type()), b = alone.input("b", inputs[5].type());
    alone.output("y", alone.add(MatMul{}, {a, b}, {.math = parse_math(text)}));
    const Tensor expected = interpret(alone, std::vector<Tensor>{inputs[4], inputs[5]})[0];
    EXPECT_EQ(values_of(run(graph, parse_math(text))[4]), values_of(expected)) << text;
  }
}

// What forbids it ends with the test.
struct Forbidden {
  Forbidden() { allow_tf32(false); }
  ~Forbidden() { allow_tf32(true); }
};

TEST(math_modes, where_tf32_is_forbidden_ieee_is_computed_and_explain_says_so) {
  const Graph graph = network();
  const std::vector<Tensor> ieee = run(graph, Math::ieee);
  const PrecisionPlan plan = make_precision_plan(graph, {.f32_math = Math::tf32});
  EXPECT_EQ(math_note(*plan.find("attention")), "");
  const std::vector<Tensor> chain = run(graph, parse_math("sim:ieee"));
  const Forbidden forbidden;
  for (const Math math : {Math::tf32, Math::tf32x3})
    expect_off(run(graph, math), ieee, {-1, 1e-30}, std::string(name(math)));
  expect_off(run(graph, parse_math("sim:a100")), chain, {-1, 1e-30}, "sim:a100");
  EXPECT_EQ(math_note(*plan.find("attention")), "allow_tf32(false) forbids TF32: computes in ieee");
  const Explanation explanation = explain(graph, plan);
  EXPECT_EQ(explanation.summary.forbidden, 4);
  EXPECT_NE(summary_text(explanation).find("tf32: 4 contractions ask for it and compute in ieee"),
            std::string::npos);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

TEST(math_modes, plans_state_the_mode_and_read_back) {
  const Graph graph = network();
  for (const char* text : {"tf32", "tf32x3", "sim:a100", "sim:h100:f8e4m3"}) {
    const Math math = parse_math(text);
    const PrecisionPlan plan = make_precision_plan(graph, {.f32_math = math});
    EXPECT_EQ(read_plan(print(plan), graph), plan) << text;
    EXPECT_EQ(plan.find("if:then_branch:product")->math, math);
    const PrecisionPlan narrow = mixed(graph, DType::f16, text);
    EXPECT_EQ(read_plan(print(narrow), graph), narrow) << text;
    EXPECT_EQ(narrow.find("attention")->math, is_simulated(math) ? math : Math::f16);
  }
}

TEST(math_modes, a_mode_may_be_edited_to_one_that_the_format_can_have) {
  const Graph graph = network();
  const auto with = [&](std::string_view math) {
    std::string text = print(mixed(graph, DType::f16, "f32"));
    text.replace(text.find("math=f16"), 8, concat("math=", math));
    return read_plan(text, graph);
  };
  const PrecisionPlan edited = with("sim:h100");
  EXPECT_EQ(edited.find("attention")->math, parse_math("sim:h100"));
  EXPECT_EQ(edited.find("attention")->rule, PrecisionRule::edited);
  EXPECT_EQ(read_plan(print(edited), graph), edited);
  EXPECT_NE(error_of([&] { with("tf32"); }).find("math tf32 does not fit f16, expected f16"),
            std::string::npos);
  EXPECT_NE(error_of([&] { with("sim:k80"); }).find("unknown matrix unit in 'sim:k80'"),
            std::string::npos);
  EXPECT_NE(error_of([&] { with("sim:avx512-bf16"); }).find("multiplies no f16, only bf16"),
            std::string::npos);
}

TEST(math_modes, what_a_unit_lacks_is_refused_when_the_plan_is_made) {
  const Graph graph = network();
  EXPECT_EQ(error_of([&] { mixed(graph, DType::bf16, "sim:v100"); }),
            "math sim:v100 of bf16: v100 multiplies no bf16, only f16, f32");
  EXPECT_EQ(error_of([&] { make_precision_plan(graph, {.f32_math = parse_math("sim:t4:tf32")}); }),
            "math sim:t4:tf32 of f32: t4 multiplies no tf32, only f16, f32");
  EXPECT_EQ(error_of([&] { make_precision_plan(graph, {.f32_math = Math::f16}); }),
            "precision: contractions in f32 are ieee, f32, tf32, tf32x3, bf16x3, dfp16 or "
            "sim:<unit>, got f16");
}

TEST(math_modes, explain_says_how_the_unit_adds_up) {
  const Graph graph = network();
  EXPECT_EQ(math_note(*mixed(graph, DType::f16, "sim:a100").find("attention")),
            "f16 operands, 8 products at once, cut to 24 bits; verified");
}

}  // namespace
}  // namespace narrowgauge::math_modes_test
