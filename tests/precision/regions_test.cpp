// SPDX-License-Identifier: Apache-2.0
// Colours inside If and loops, together with what is captured and carried.
#include <gtest/gtest.h>

#include "ir/attributes.h"
#include "narrowgauge/explain.h"
#include "ops/pointwise/cast.h"
#include "precision/apply.h"
#include "precision/colouring/lists.h"
#include "precision/vertices/reasons.h"
#include "small_ops.h"

namespace narrowgauge::regions_test {
namespace {

using namespace small;

const TensorType type = TensorType::parse("f32[2,3]");

PrecisionPlan plan_of(const Graph& graph, std::vector<std::string> overrides = {}) {
  PrecisionRequest options;
  options.narrow = DType::f16;
  options.overrides = std::move(overrides);
  return colour_by_lists(graph, options);
}

// A body with inputs h (carried) and w (captured): h' = kind(h, w), and a second carried value that
// goes around untouched.
Region body_of(char kind) {
  Graph body("body");
  const Value h = body.input("h", type), still = body.input("still", type);
  const Value w = body.input("w", type);
  const std::map<std::string, Value> values{{"h", h}, {"w", w}};
  body.output("h", add_step(body, {"step", kind, {"h", "w"}}, values));
  body.output("still", still);
  return std::make_shared<const Graph>(std::move(body));
}

// x -before- repeat -after- end
Graph loop(char before, char inside, char after) {
  Graph graph("loop");
  std::map<std::string, Value> values{{"x", graph.input("x", type)}};
  values["w"] = graph.state(parameter("w", "f32[2,3]"));
  values["before"] = add_step(graph, {"before", before, {"x"}}, values);
  const Value r = graph.add(Repeat{body_of(inside)}, {values["before"], values["x"], values["w"]},
                            {.name = "r"});
  values["r"] = r;
  values["after"] = add_step(graph, {"after", after, {"r"}}, values);
  graph.output("still", {r.node, 1});
  graph.output("end", graph.add(Unlisted{}, {values["after"]}, {.name = "end"}));
  return graph;
}

DType format(const PrecisionPlan& plan, std::string_view name) {
  const PlanEntry* entry = plan.find(name);
  require(entry && entry->dtype, "no format for ", name);
  return *entry->dtype;
}

TEST(regions, a_carried_value_is_narrow_all_around) {
  const Graph graph = loop('A', 'A', 'A');
  const PrecisionPlan plan = plan_of(graph);
  EXPECT_EQ(format(plan, "r:in0"), DType::f16);
  EXPECT_EQ(format(plan, "r:body:step"), DType::f16);
  EXPECT_EQ(format(plan, "r:in2"), DType::f16);  // the captured weight: cast outside, once
  EXPECT_EQ(format(plan, "r:in1"), DType::f32);  // an output of the graph
  EXPECT_EQ(plan.find("r:in1")->rule, PrecisionRule::preserved_output);
  const Graph applied = apply(graph, plan);
  verify(applied, Stage::precise);
  const Node& r = applied.node(applied.find_node("r"));
  EXPECT_EQ(r.outputs[0].type.dtype, DType::f16);
  EXPECT_EQ(r.outputs[1].type.dtype, DType::f32);
  EXPECT_EQ(applied.value_name(r.inputs[2]), "w.to_f16");
  const Region body = regions_of(r)[0];
  for (const Node& node : body->nodes()) EXPECT_FALSE(node.is<Cast>()) << node.name;
  EXPECT_EQ(body->node(body->find_node("step")).math, Math::f16);
}

TEST(regions, deny_inside_a_loop_keeps_the_carried_value_f32) {
  const Graph graph = loop('A', 'D', 'I');
  const PrecisionPlan plan = plan_of(graph);
  EXPECT_EQ(format(plan, "r:body:step"), DType::f32);
  EXPECT_EQ(format(plan, "r:in0"), DType::f32);
  EXPECT_EQ(plan.find("r:in0")->rule, PrecisionRule::deny_propagated);
  EXPECT_EQ(plan.find("after")->rule, PrecisionRule::deny_propagated);
  EXPECT_EQ(reason(plan, *plan.find("after")),
            "deny small.Deny 'r:body:step' reaches it through 'r:in0'");
  const Graph applied = apply(graph, plan);
  verify(applied, Stage::precise);
  EXPECT_GE(applied.find_node("before.to_f32"), 0);
}

TEST(regions, colours_go_around_a_loop) {
  // Inside, infer reads what comes around: narrow as the allow op before and after.
  EXPECT_EQ(format(plan_of(loop('A', 'I', 'A')), "r:body:step"), DType::f16);
  // Nothing narrow enters: the body stays.
  EXPECT_EQ(format(plan_of(loop('U', 'I', 'U')), "r:body:step"), DType::f32);
  // An allow op inside makes the clear ends narrow, and with them what is carried.
  const PrecisionPlan plan = plan_of(loop('U', 'A', 'U'));
  EXPECT_EQ(format(plan, "r:in0"), DType::f16);
  EXPECT_EQ(plan.find("r:in0")->cause, "r:body:step");
}

TEST(regions, a_plan_line_inside_a_body_can_be_overridden) {
  const Graph graph = loop('A', 'A', 'A');
  const PrecisionPlan plan = plan_of(graph, {"r:body:*=f32"});
  EXPECT_EQ(format(plan, "r:body:step"), DType::f32);
  EXPECT_EQ(format(plan, "r:in0"), DType::f16);
  const Graph applied = apply(graph, plan);
  verify(applied, Stage::precise);
  const Region body = regions_of(applied.node(applied.find_node("r")))[0];
  EXPECT_GE(body->find_node("h.to_f32"), 0);
  EXPECT_GE(body->find_node("step.to_f16"), 0);
  EXPECT_EQ(read_plan(print(plan), graph), plan);
}

Region branch(char kind) {
  Graph body("branch");
  const std::map<std::string, Value> values{{"x", body.input("x", type)}};
  body.output("y", add_step(body, {"work", kind, {"x"}}, values));
  return std::make_shared<const Graph>(std::move(body));
}

Graph either(char yes, char no) {
  Graph graph("either");
  const Value x = graph.input("x", type);
  const Value p = graph.input("p", TensorType::parse("bool[]"));
  const Value a = graph.add(Allow{}, {x}, {.name = "a"});
  const Value e = graph.add(Either{branch(yes), branch(no)}, {p, a}, {.name = "e"});
  const Value b = graph.add(Allow{}, {e}, {.name = "b"});
  graph.output("end", graph.add(Unlisted{}, {b}, {.name = "end"}));
  return graph;
}

TEST(regions, branches_of_an_if_agree_on_what_they_take_and_give) {
  const PrecisionPlan both = plan_of(either('I', 'I'));
  EXPECT_EQ(format(both, "e:yes:work"), DType::f16);
  EXPECT_EQ(format(both, "e:no:work"), DType::f16);
  EXPECT_EQ(format(both, "e:out0"), DType::f16);
  // A branch that stays f32 casts inside: the result is clear, before an allow op.
  const Graph graph = either('I', 'U');
  const PrecisionPlan one = plan_of(graph);
  EXPECT_EQ(format(one, "e:yes:work"), DType::f16);
  EXPECT_EQ(format(one, "e:no:work"), DType::f32);
  EXPECT_EQ(format(one, "e:out0"), DType::f16);
  const Graph applied = apply(graph, one);
  verify(applied, Stage::precise);
  const auto regions = regions_of(applied.node(applied.find_node("e")));
  EXPECT_EQ(regions[0]->nodes().size(), 2u);
  EXPECT_GE(regions[1]->find_node("x.to_f32"), 0);
  EXPECT_GE(regions[1]->find_node("work.to_f16"), 0);
}

TEST(regions, explain_counts_casts_inside) {
  const Explanation explanation = explain(either('I', 'U'), plan_of(either('I', 'U')));
  EXPECT_EQ(explanation.summary.casts, 4);  // x down, two inside, b up
  EXPECT_EQ(explanation.summary.cast_bytes, 4 * 6 * (4 + 2));
  EXPECT_EQ(explanation.node("e:no:work").before.size(), 1u);
  EXPECT_EQ(explanation.node("e:no:work").after.size(), 1u);
}

TEST(regions, results_are_stable_and_read_back) {
  for (const char before : std::string("AICDU"))
    for (const char inside : std::string("AICDU"))
      for (const char after : std::string("AICDU")) {
        const Graph graph = loop(before, inside, after);
        const PrecisionPlan plan = plan_of(graph);
        EXPECT_EQ(read_plan(print(plan), graph), plan);
        const Graph applied = apply(graph, plan);
        verify(applied, Stage::precise);
        EXPECT_EQ(applied.type(applied.find_output("still")), type);
      }
}

}  // namespace
}  // namespace narrowgauge::regions_test
