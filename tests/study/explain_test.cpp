// SPDX-License-Identifier: Apache-2.0
// Reasons, casts and their bytes, as text and as JSON.
#include "narrowgauge/explain.h"

#include <gtest/gtest.h>

#include "ops/math/matmul.h"
#include "precision/colouring/lists.h"
#include "precision/colouring/policy.h"
#include "precision/plan_reader.h"
#include "precision/small_ops.h"
#include "precision/vertices/reasons.h"
#include "support/json.h"

namespace narrowgauge::explain_test {
namespace {

using namespace small;

PrecisionPlan plan_of(const Graph& graph, std::vector<std::string> overrides = {}) {
  PrecisionRequest options;
  options.narrow = DType::f16;
  options.overrides = std::move(overrides);
  return colour_by_lists(graph, options);
}

TEST(explain, follows_the_causes_back) {
  const Graph graph = chain("DICIU");
  const PrecisionPlan plan = plan_of(graph);
  EXPECT_EQ(reason(plan, *plan.find("n3")), "deny small.Deny 'n0' reaches it through 'n1', 'n2'");
  EXPECT_EQ(reason(plan, *plan.find("n1")), "deny small.Deny 'n0' reaches it");
  EXPECT_EQ(reason_chain(plan, *plan.find("n1")),
            (std::vector<std::string>{
                "n1 (small.Infer, infer): f32, deny-propagated: a deny op reaches it through infer "
                "and clear ops",
                "n0 (small.Deny, deny): f32, deny-list: its op is on the deny list"}));
  const PrecisionPlan long_plan = plan_of(chain("DIIIIIII"));
  EXPECT_EQ(reason(long_plan, *long_plan.find("n7")),
            "deny small.Deny 'n0' reaches it through 'n1', 'n2', 'n3' and 3 more");
}

TEST(explain, says_what_is_narrow_beside_it) {
  const PrecisionPlan plan = plan_of(chain("AC"));
  EXPECT_EQ(reason(plan, *plan.find("n1")),
            "it keeps values as they are and is beside a narrow one: allow small.Allow 'n0'");
  const PrecisionPlan over = plan_of(chain("AI"), {"n1=deny"});
  EXPECT_EQ(reason(over, *over.find("n1")), "its op is on the deny list (n1=deny)");
}

TEST(explain, causes_in_a_circle_end) {
  PrecisionPlan plan = plan_of(chain("DII"));
  for (PlanEntry& entry : plan.entries)
    if (entry.name == "n1") entry.cause = "n2";
  EXPECT_EQ(reason_chain(plan, *plan.find("n2")).size(), 2u);
  EXPECT_FALSE(reason(plan, *plan.find("n2")).empty());
}

Graph with_symbols() {
  Graph graph("symbols");
  const Value x = graph.input("x", TensorType::parse("f32[N,8]"));
  const Value a = graph.add(Allow{}, {x}, {.name = "a"});
  graph.output("y", graph.add(Unlisted{}, {a, a, x}, {.name = "u"}));
  return graph;
}

TEST(explain, counts_casts_and_their_bytes) {
  const Graph graph = with_symbols();
  const Explanation unbound = explain(graph, plan_of(graph));
  EXPECT_EQ(unbound.summary.casts, 2);
  EXPECT_FALSE(unbound.summary.cast_bytes.has_value());
  const Explanation bound = explain(graph, plan_of(graph), {{"N", 10}});
  EXPECT_EQ(bound.summary.cast_bytes, 2 * 80 * (4 + 2));
  const NodeExplanation& a = bound.node("a");
  ASSERT_EQ(a.before.size(), 1u);
  EXPECT_EQ(a.before[0].name, "x.to_f16");
  EXPECT_EQ(a.before[0].value, "x");
  EXPECT_EQ(a.before[0].bytes, 80 * 6);
  ASSERT_EQ(a.after.size(), 1u);
  EXPECT_EQ(a.after[0].to, DType::f32);
  EXPECT_EQ(a.outputs[0].dtype, DType::f16);
  EXPECT_EQ(bound.node("u").before.size(), 1u);  // one cast, though it is read twice
  EXPECT_EQ(bound.summary.unlisted, 1);
  EXPECT_EQ(bound.summary.unlisted_ops, std::vector<std::string>{"small.Unlisted"});
  EXPECT_EQ(bound.summary.without_choice, 1);
  EXPECT_THROW(bound.node("b"), UsageError);
}

// The explanation of y = x w with 300 products in each sum.
NodeExplanation explained_product(Math math, const Binding& binding) {
  Graph graph("product");
  const Value x = graph.input("x", TensorType::parse("f32[N,300]"));
  const Value w = graph.input("w", TensorType::parse("f32[300,10]"));
  graph.output("y", graph.add(MatMul{}, {x, w}, {.name = "product"}));
  PrecisionPlan plan = make_precision_plan(graph, {});
  for (PlanEntry& entry : plan.entries)
    if (entry.name == "product") entry.math = math;
  return explain(graph, plan, binding).node("product");
}

TEST(explain, bounds_the_error_of_a_contraction) {
  const Binding ten{{"N", 10}};
  const NodeExplanation ieee = explained_product(Math::ieee, ten);
  ASSERT_TRUE(ieee.error.has_value());
  EXPECT_EQ(ieee.error->depth, 300);
  EXPECT_NEAR(ieee.error->bound, 300 * 0x1p-24, 1e-8);
  EXPECT_LT(ieee.error->expected, ieee.error->bound / 100);
  EXPECT_EQ(ieee.error->bias, 0);
  const NodeExplanation unit = explained_product(simulated(MatrixUnit::a100), ten);
  ASSERT_TRUE(unit.error.has_value());
  EXPECT_EQ(unit.error->unit, "a100 tf32 -> f32");
  EXPECT_GT(unit.error->bound, 0x1p-10);  // the operands are rounded to 10 bits
  EXPECT_LT(unit.error->bias, 0);
  EXPECT_NE(explanation_text(unit).find("error   sums of 300 products (a100 tf32 -> f32): at most"),
            std::string::npos)
      << explanation_text(unit);
  EXPECT_NE(explanation_json(unit).find("\"depth\":300"), std::string::npos);
  EXPECT_FALSE(explained_product(Math::bf16x3, ten).error.has_value());
  EXPECT_FALSE(explained_product(Math::ieee, {}).error.has_value());
}

TEST(explain, rows_summary_and_node_read_well) {
  const Graph graph = with_symbols();
  const Explanation explanation = explain(graph, plan_of(graph), {{"N", 10}});
  const auto row = [&](const char* name) {
    const ExplanationRow it = row_of(explanation.node(name));
    return concat(it.node, '|', it.op, '|', it.precision, '|', it.in, '|', it.out, '|', it.rule,
                  '|', it.casts);
  };
  EXPECT_EQ(row("x"), "x|ng.Input|-|-|f32|source|1 out");
  EXPECT_EQ(row("a"), "a|small.Allow|allow|f16|f16 @f16|seed-allow|1 in, 1 out");
  EXPECT_EQ(row("u"), "u|small.Unlisted|unlisted|f32|f32|unlisted|1 in");
  EXPECT_EQ(summary_text(explanation),
            "nodes: 1 in f32, 1 in f16; 1 without a choice\n"
            "casts: 2, 960 B read and written\n"
            "unlisted: 1 (small.Unlisted)\n");
  EXPECT_EQ(explanation_text(explanation.node("a")),
            "node    a\n"
            "op      small.Allow\n"
            "class   allow\n"
            "format  f16\n"
            "math    f16\n"
            "rule    seed-allow: its op is on the allow list\n"
            "in      f16[N,8]\n"
            "out     f16[N,8]\n"
            "cast    before: x from f32 to f16, 480 B\n"
            "cast    after: a from f16 to f32, 480 B\n"
            "because a (small.Allow, allow): f16, seed-allow: its op is on the allow list\n");
}

TEST(explain, the_json_says_the_same) {
  const Graph graph = with_symbols();
  const auto json =
      testing_json::Json::parse(explanation_json(explain(graph, plan_of(graph), {{"N", 10}})));
  EXPECT_EQ(json["model"], "symbols");
  EXPECT_EQ(json["narrow"], "f16");
  ASSERT_EQ(json["nodes"].size(), 3u);
  const auto& a = json["nodes"][1];
  EXPECT_EQ(a["name"], "a");
  EXPECT_EQ(a["class"], "allow");
  EXPECT_EQ(a["dtype"], "f16");
  EXPECT_EQ(a["rule"], "seed-allow");
  EXPECT_EQ(a["inputs"][0], "f16[N,8]");
  EXPECT_EQ(a["casts"].size(), 2u);
  EXPECT_EQ(a["casts"][0]["bytes"], 480);
  EXPECT_EQ(a["chain"].size(), 1u);
  EXPECT_TRUE(json["nodes"][0]["dtype"].is_null());
  EXPECT_EQ(json["summary"]["nodes"]["f16"], 1);
  EXPECT_EQ(json["summary"]["cast_bytes"], 960);
  const auto open = testing_json::Json::parse(explanation_json(explain(graph, plan_of(graph))));
  EXPECT_TRUE(open["summary"]["cast_bytes"].is_null());
}

TEST(explain, every_node_has_a_reason) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    const auto steps = random_steps(random, 20);
    const Graph graph = build(steps, {steps.back().name});
    for (const PrecisionPlan& plan : {plan_of(graph), make_precision_plan(graph, {})})
      for (const NodeExplanation& node : explain(graph, plan).nodes) {
        EXPECT_FALSE(node.reason.empty()) << node.entry.name;
        EXPECT_GE(node.chain.size(), 1u);
        EXPECT_GE(node.outputs.size(), 1u);
      }
  }
}

}  // namespace
}  // namespace narrowgauge::explain_test
