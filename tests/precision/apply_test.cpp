// SPDX-License-Identifier: Apache-2.0
// Where casts go, and what keeps its format.
#include "precision/apply.h"

#include <gtest/gtest.h>

#include "ops/pointwise/cast.h"
#include "precision/casting.h"
#include "precision/colouring/lists.h"
#include "precision/colouring/policy.h"
#include "small_ops.h"

namespace narrowgauge::apply_test {
namespace {

using namespace small;

PrecisionPlan plan_of(const Graph& graph, DType narrow = DType::f16,
                      std::vector<std::string> overrides = {}) {
  PrecisionRequest options;
  options.narrow = narrow;
  options.overrides = std::move(overrides);
  return colour_by_lists(graph, options);
}

int casts_in(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes()) count += node.is<Cast>();
  return count;
}

const Node& node(const Graph& graph, std::string_view name) {
  const int index = graph.find_node(name);
  require(index >= 0, "no node ", name);
  return graph.node(index);
}

TEST(apply, one_cast_serves_all_readers_of_a_value) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[2,3]"));
  Values made;
  for (const char* name : {"a", "b", "c"}) made.push_back(graph.add(Allow{}, {x}, {.name = name}));
  graph.output("y", graph.add(Unlisted{}, made, {.name = "y"}));
  const Graph applied = apply(graph, plan_of(graph));
  verify(applied, Stage::precise);
  EXPECT_EQ(casts_in(applied), 4);  // x down, three results up
  const int cast = applied.find_node("x.to_f16");
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(node(applied, name).inputs[0].node, cast);
  EXPECT_EQ(node(applied, "x.to_f16").origin, "x");
  EXPECT_EQ(node(applied, "a").math, Math::f16);
  EXPECT_EQ(applied.type(applied.find_output("y")).dtype, DType::f32);
}

TEST(apply, a_value_read_in_two_formats_gets_a_cast_for_each) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[2,3]"));
  const Value a = graph.add(Allow{}, {x}, {.name = "a"});
  const Value b = graph.add(Allow{}, {x}, {.name = "b"});
  graph.output("y", graph.add(Unlisted{}, {a, b}, {.name = "y"}));
  const Graph applied = apply(graph, plan_of(graph, DType::f16, {"b=bf16"}));
  EXPECT_GE(applied.find_node("x.to_f16"), 0);
  EXPECT_GE(applied.find_node("x.to_bf16"), 0);
  EXPECT_EQ(node(applied, "b").math, Math::bf16);
}

TEST(apply, ports_of_other_variables_keep_their_format) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[2,3]"));
  const Value a = graph.add(Allow{}, {x}, {.name = "a"});
  const Value n = graph.add(Norm{}, {a, a}, {.name = "norm"});
  const Value b = graph.add(Allow{}, {n, {n.node, 1}}, {.name = "b"});
  graph.output("y", graph.add(Pinned{}, {b}, {.name = "y"}));
  const Graph applied = apply(graph, plan_of(graph));
  verify(applied, Stage::precise);
  const Node& norm = node(applied, "norm");
  EXPECT_EQ(applied.type(norm.inputs[0]).dtype, DType::f16);
  EXPECT_EQ(applied.type(norm.inputs[1]).dtype, DType::f32);
  EXPECT_EQ(norm.outputs[0].type.dtype, DType::f16);
  EXPECT_EQ(norm.outputs[1].type.dtype, DType::f32);
  EXPECT_GE(applied.find_node("norm.1.to_f16"), 0);
  EXPECT_GE(applied.find_node("b.to_f32"), 0);
}

TEST(apply, gradients_are_taken_as_they_come) {
  Graph graph;
  const Value w = graph.state(parameter("w", "f32[4]"));
  const Value g = graph.add(Allow{}, {w}, {.name = "g"});
  graph.set_next("w", graph.add(Update{}, {w, g}, {.name = "update"}));
  const Graph applied = apply(graph, plan_of(graph));
  EXPECT_EQ(applied.type(node(applied, "update").inputs[1]).dtype, DType::f16);
  EXPECT_EQ(applied.type(applied.states()[0].next).dtype, DType::f32);
  EXPECT_EQ(casts_in(applied), 1);
}

TEST(apply, a_port_of_type_any_takes_a_narrow_value_only_if_the_outputs_stay_the_same) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[4]"));
  const Value a = graph.add(Allow{}, {x}, {.name = "a"});
  graph.output("p", graph.add(IsPositive{}, {a}, {.name = "p"}));
  graph.output("q", graph.add(PassAny{}, {a}, {.name = "q"}));
  const Graph applied = apply(graph, plan_of(graph));
  EXPECT_EQ(applied.type(node(applied, "p").inputs[0]).dtype, DType::f16);
  EXPECT_EQ(applied.type(node(applied, "q").inputs[0]).dtype, DType::f32);
}

TEST(apply, widening_and_narrowing_again_is_the_value_itself) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f16[4]"));
  const Value up = graph.add(Cast{.to = DType::f32}, {x}, {.name = "up"});
  const Value a = graph.add(Allow{}, {up}, {.name = "a"});
  graph.output("y", graph.add(Unlisted{}, {a, up}));
  const Graph applied = apply(graph, plan_of(graph));
  EXPECT_EQ(applied.value_name(node(applied, "a").inputs[0]), "x");
  EXPECT_EQ(casts_in(applied), 2);  // `up`, and a's result
  // f16 does not hold every bf16: that one has to be rounded.
  const Graph other = apply(graph, plan_of(graph, DType::bf16));
  EXPECT_EQ(other.value_name(node(other, "a").inputs[0]), "x.to_bf16");
}

TEST(apply, constants_are_converted_and_finite_ones_stay_finite) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[3]"));
  const Value c = graph.constant(Tensor::from<float>({3}, {1.0f / 3, -1e9f, 70000}), "mask");
  graph.output("y", graph.add(Unlisted{}, {graph.add(Allow{}, {x, c}, {.name = "a"})}));
  const Graph applied = apply(graph, plan_of(graph));
  const Tensor* mask = applied.constant_value(node(applied, "a").inputs[1]);
  ASSERT_NE(mask, nullptr);
  EXPECT_EQ(mask->dtype(), DType::f16);
  EXPECT_EQ(mask->at(0), 0.333251953125);
  EXPECT_EQ(mask->at(1), -65504);
  EXPECT_EQ(mask->at(2), 65504);
}

TEST(apply, all_f32_is_the_same_graph_with_contracts) {
  const Graph graph = chain("AICD");
  const Graph applied = apply(graph, make_precision_plan(graph, {.f32_math = Math::ieee}));
  EXPECT_EQ(applied.nodes().size(), graph.nodes().size());
  EXPECT_EQ(node(applied, "n0").math, Math::ieee);
  EXPECT_EQ(node(applied, "n1").math, Math::none);
}

TEST(apply, keeps_names_origins_instances_and_states) {
  Graph graph;
  const Value w = graph.state(parameter("w", "f32[4]"));
  const Value a = graph.add(Allow{}, {w}, {.name = "a", .origin = "somebody", .instance = 3});
  graph.set_next("w", graph.add(Infer{}, {a}, {.name = "next"}));
  graph.input("w.to_f16", TensorType::parse("f32[1]"));  // the name is taken by a later node
  const Graph applied = apply(graph, plan_of(graph));
  verify(applied, Stage::precise);
  EXPECT_EQ(node(applied, "a#3").origin, "somebody");
  EXPECT_EQ(applied.value_name(applied.states()[0].next), "next");
  EXPECT_EQ(applied.value_name(node(applied, "a#3").inputs[0]), "w.to_f16_");
  EXPECT_GE(applied.find_node("a.3.to_f32"), 0);
}

TEST(apply, a_plan_of_another_model_is_refused) {
  EXPECT_THROW(apply(chain("AI"), plan_of(chain("AC"))), ModelError);
}

// T ports of a node have the plan's format, other ports and the graph's outputs their own.
void check_formats(const Graph& graph, const PrecisionPlan& plan, const Graph& applied) {
  verify(applied, Stage::precise);
  for (const Node& before : graph.nodes()) {
    const Node& after = node(applied, before.full_name());
    const PlanEntry& entry = *plan.find(before.full_name());
    ASSERT_EQ(after.inputs.size(), before.inputs.size());
    for (int i = 0; i < static_cast<int>(after.inputs.size()); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool chosen = entry.dtype && before.op->input_port(i).type == "T";
      EXPECT_EQ(applied.type(after.inputs[at]).dtype,
                chosen ? *entry.dtype : graph.type(before.inputs[at]).dtype)
          << before.full_name();
    }
  }
  for (const GraphOutput& output : graph.outputs())
    EXPECT_EQ(applied.type(applied.find_output(output.name)), graph.type(output.value));
  std::map<std::pair<Value, DType>, int> casts;
  for (const Node& cast : applied.nodes())
    if (cast.is<Cast>()) {
      EXPECT_EQ(++casts[std::pair(cast.inputs[0], cast.as<Cast>().to)], 1) << cast.name;
      EXPECT_FALSE(applied.producer(cast.inputs[0]).is<Cast>()) << cast.name;
    }
}

TEST(apply, random_graphs_get_exactly_the_planned_formats) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const auto steps = random_steps(random, 24);
    Graph graph = build(steps, {steps.back().name, steps[5].name});
    graph.output("pinned", graph.add(Pinned{}, {graph.outputs()[1].value}, {.name = "pinned"}));
    PrecisionPlan plan = plan_of(graph, DType::f16);
    check_formats(graph, plan, apply(graph, plan));
    // Any other choice works as well.
    for (PlanEntry& entry : plan.entries)
      if (entry.dtype) entry.dtype = std::array{DType::f32, DType::f16, DType::bf16}[random() % 3];
    check_formats(graph, plan, apply(graph, plan));
  }
}

TEST(apply, widening_is_exact_where_every_value_survives) {
  EXPECT_TRUE(widens_exactly(DType::f16, DType::f32));
  EXPECT_TRUE(widens_exactly(DType::f8e5m2, DType::f16));
  EXPECT_TRUE(widens_exactly(DType::f4e2m1, DType::f8e4m3fn));
  EXPECT_FALSE(widens_exactly(DType::f4e2m1, DType::f8e4m3fnuz));  // no negative zero
  EXPECT_TRUE(widens_exactly(DType::f8e5m2fnuz, DType::f16));
  EXPECT_TRUE(widens_exactly(DType::f8e8m0, DType::bf16));
  EXPECT_FALSE(widens_exactly(DType::f8e8m0, DType::f16));
  EXPECT_FALSE(widens_exactly(DType::f16, DType::bf16));
  EXPECT_FALSE(widens_exactly(DType::f32, DType::f16));
  EXPECT_FALSE(widens_exactly(DType::i32, DType::f32));
  for (const DType from : {DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz, DType::f8e5m2fnuz,
                           DType::f16, DType::bf16})
    for (const DType to : {DType::f16, DType::bf16, DType::f32, DType::f64})
      if (widens_exactly(from, to)) {
        EXPECT_LE(largest_finite(from), largest_finite(to));
        EXPECT_GE(smallest_subnormal(from), smallest_subnormal(to));
      }
}

}  // namespace
}  // namespace narrowgauge::apply_test
