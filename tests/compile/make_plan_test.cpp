// SPDX-License-Identifier: Apache-2.0
// Which values share memory, and where each value of a plan lies.
#include <gtest/gtest.h>

#include "compile/compile.h"
#include "narrowgauge/op.h"
#include "ops/activation/relu.h"
#include "ops/table.h"

namespace narrowgauge::make_plan_test {
namespace {

using Kind = Location::Kind;

// A plan of the nodes as they stand, for reading.
Plan plan_of(std::string_view text) {
  return make_plan(parse(text, op_table()), {.target = {.isa = Isa::avx2}, .runs = false});
}

const PlanStep& step_of(const Plan& plan, std::string_view node) {
  for (const PlanStep& step : plan.steps)
    if (step.node == node) return step;
  throw UsageError(concat("the plan has no node '", node, "'"));
}

Location place_of(const Plan& plan, std::string_view node, std::size_t output = 0) {
  return step_of(plan, node).outputs[output].location;
}

// Two buffers that live at once must lie apart.
bool lie_apart(const Location& a, const Location& b, std::int64_t bytes) {
  return a.kind != b.kind || a.index + bytes <= b.index || b.index + bytes <= a.index;
}

TEST(make_plan, an_output_takes_the_memory_of_an_input_that_dies) {
  const Plan plan = plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[4,8]} : f32[4,8]
  %a = Relu(%x) : f32[4,8]
  %b = Tanh(%a) : f32[4,8]
  %c = Relu(%b) : f32[4,8]
  output "c" = %c
}
)");
  EXPECT_EQ(place_of(plan, "a").kind, Kind::arena);
  EXPECT_EQ(place_of(plan, "b"), place_of(plan, "a"));
  EXPECT_EQ(place_of(plan, "c"), place_of(plan, "a"));
  EXPECT_EQ(plan.value_bytes, 4 * 4 * 8);
}

TEST(make_plan, memory_that_is_taken_over_lives_as_long_as_its_last_value) {
  const Plan plan = plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[4,8]} : f32[4,8]
  %a = Relu(%x) : f32[4,8]
  %b = Tanh(%a) : f32[4,8]
  %c = Relu(%x) : f32[4,8]
  %d = Sub(%b, %c) : f32[4,8]
  output "d" = %d
}
)");
  EXPECT_EQ(place_of(plan, "b"), place_of(plan, "a"));
  EXPECT_TRUE(lie_apart(place_of(plan, "b"), place_of(plan, "c"), 4 * 4 * 8));
}

TEST(make_plan, an_input_that_is_read_later_keeps_its_memory) {
  const Plan plan = plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[4,8]} : f32[4,8]
  %a = Relu(%x) : f32[4,8]
  %b = Tanh(%a) : f32[4,8]
  %c = Add(%a, %b) : f32[4,8]
  output "c" = %c
}
)");
  EXPECT_TRUE(lie_apart(place_of(plan, "a"), place_of(plan, "b"), 4 * 4 * 8));
  EXPECT_EQ(place_of(plan, "c"), place_of(plan, "a"));
  EXPECT_EQ(plan.value_bytes, 2 * 4 * 4 * 8);
}

TEST(make_plan, an_output_of_the_graph_is_never_overwritten) {
  const Plan plan = plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[4,8]} : f32[4,8]
  %a = Relu(%x) : f32[4,8]
  %b = Tanh(%a) : f32[4,8]
  output "a" = %a
  output "b" = %b
}
)");
  EXPECT_TRUE(lie_apart(place_of(plan, "a"), place_of(plan, "b"), 4 * 4 * 8));
  EXPECT_EQ(plan.outputs[0].location, place_of(plan, "a"));
  EXPECT_EQ(plan.outputs[1].location, place_of(plan, "b"));
}

// Two readers of one value may see it half overwritten.
TEST(make_plan, an_input_that_a_node_reads_twice_keeps_its_memory) {
  const Plan plan = plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[4,8]} : f32[4,8]
  %a = Relu(%x) : f32[4,8]
  %b = ng.ReshapeTo(%a) {shape=[4,8]} : f32[4,8]
  %c = Mul(%a, %b) : f32[4,8]
  output "c" = %c
}
)");
  EXPECT_EQ(place_of(plan, "b"), place_of(plan, "a"));
  EXPECT_TRUE(lie_apart(place_of(plan, "c"), place_of(plan, "a"), 4 * 4 * 8));
}

TEST(make_plan, what_the_caller_gives_and_constants_are_never_overwritten) {
  const Plan plan = plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[2]} : f32[2]
  %k = Constant {value=f32[2]{1,2}} : f32[2]
  %a = Relu(%x) : f32[2]
  %b = Relu(%k) : f32[2]
  output "a" = %a
  output "b" = %b
}
)");
  EXPECT_EQ(step_of(plan, "a").inputs[0], (Location{Kind::input, 0}));
  EXPECT_EQ(step_of(plan, "b").inputs[0], (Location{Kind::constant, 0}));
  EXPECT_EQ(place_of(plan, "a").kind, Kind::arena);
  EXPECT_EQ(place_of(plan, "b").kind, Kind::arena);
}

// Offers to write the first half of its input over it.
struct FirstHalf {
  static constexpr OpInfo info{
      .name = "FirstHalf", .domain = "test", .inputs = "x:T", .outputs = "y:T", .types = "T:float"};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const { return {{in.dtype(0), {in.shape(0)[0] / 2}}}; }
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {{"in place", [](const Request&) {
                                         Offer offer;
                                         offer.in_place = {{0, 0}};
                                         offer.run = [](const KernelCall&) {};
                                         return offer;
                                       }}};
    return list;
  }
};

TEST(make_plan, memory_of_another_size_is_not_taken) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[8]"));
  const Value whole = graph.add(Relu{}, {x}, {.name = "whole"});
  graph.output("y", graph.add(FirstHalf{}, {whole}, {.name = "half"}));
  const Plan plan = make_plan(graph, {.runs = false});
  EXPECT_TRUE(lie_apart(place_of(plan, "whole"), place_of(plan, "half"), 4 * 8));
}

TEST(make_plan, a_view_is_the_memory_of_its_input_and_runs_nothing) {
  const Plan plan = plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[4,8]} : f32[4,8]
  %v = ng.ReshapeTo(%x) {shape=[32]} : f32[32]
  %a = Relu(%v) : f32[32]
  output "a" = %a
}
)");
  EXPECT_EQ(place_of(plan, "v"), (Location{Kind::input, 0}));
  EXPECT_FALSE(step_of(plan, "v").run);
  EXPECT_EQ(place_of(plan, "a").kind, Kind::arena);
}

TEST(make_plan, an_output_that_nobody_reads_lies_nowhere) {
  const Plan plan = plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[2,3,4,4]} : f32[2,3,4,4]
  %p = MaxPool(%x) {kernel_shape=[2,2], strides=[2,2]} : f32[2,3,2,2], i64[2,3,2,2]
  output "p" = %p
}
)");
  EXPECT_EQ(place_of(plan, "p").kind, Kind::arena);
  EXPECT_EQ(place_of(plan, "p", 1).kind, Kind::none);
}

// Both gradients may be written over by the sum; one of them lives on.
TEST(make_plan, of_several_inputs_the_one_that_dies_is_taken) {
  const Plan plan = plan_of(R"(graph "g" {
  %x = ng.Input {type=f32[8]} : f32[8]
  %a = Relu(%x) : f32[8]
  %b = Tanh(%x) : f32[8]
  %c = Add(%a, %b) : f32[8]
  output "a" = %a
  output "c" = %c
}
)");
  EXPECT_EQ(place_of(plan, "c"), place_of(plan, "b"));
}

constexpr std::string_view update = R"(graph "g" {
  %w = ng.State {type=f32[3]} : f32[3]
  %g = ng.Input {type=f32[3]} : f32[3]
  %lr = ng.Input : f32[]
  %ok = ng.Input {type=bool[]} : bool[]
  %u = ng.SgdUpdate(%w, %g, _, %lr, %lr, %ok) : f32[3], f32[3], f32[3]
  state %w role=parameter initial=normal(0,1) next=%u
}
)";

TEST(make_plan, the_next_value_of_a_state_is_written_over_it) {
  const Plan plan = plan_of(update);
  EXPECT_EQ(place_of(plan, "u"), (Location{Kind::state, 0}));
  EXPECT_TRUE(plan.states[0].changes);
  EXPECT_EQ(plan.states[0].next.kind, Kind::none);
  EXPECT_EQ(plan.states[0].staging.kind, Kind::none);
}

TEST(make_plan, a_state_that_is_read_after_its_update_is_copied_at_the_end) {
  std::string text(update);
  text.insert(text.find("  state"), "  %late = Relu(%w) : f32[3]\n");
  text.insert(text.rfind('}'), "  output \"late\" = %late\n");
  const Plan plan = plan_of(text);
  EXPECT_EQ(place_of(plan, "u").kind, Kind::arena);
  EXPECT_EQ(plan.states[0].next, place_of(plan, "u"));
}

// Only a state's own next value may take its memory: another node's output would change it.
TEST(make_plan, a_state_that_stays_is_never_overwritten) {
  const Plan plan = plan_of(R"(graph "g" {
  %w = ng.State {type=f32[3]} : f32[3]
  %r = Relu(%w) : f32[3]
  state %w role=parameter initial=normal(0,1) next=%w
  output "r" = %r
}
)");
  EXPECT_EQ(place_of(plan, "r").kind, Kind::arena);
  EXPECT_FALSE(plan.states[0].changes);
}

TEST(make_plan, states_that_change_places_are_copied_aside_first) {
  const Plan plan = plan_of(R"(graph "g" {
  %a = ng.State {type=f32[3]} : f32[3]
  %b = ng.State {type=f32[3]} : f32[3]
  state %a role=moment initial=constant(1) next=%b
  state %b role=moment initial=constant(2) next=%a
}
)");
  EXPECT_EQ(plan.states[0].next, (Location{Kind::state, 1}));
  EXPECT_EQ(plan.states[1].next, (Location{Kind::state, 0}));
  EXPECT_EQ(plan.states[0].staging.kind, Kind::arena);
  EXPECT_EQ(plan.states[1].staging.kind, Kind::arena);
  EXPECT_TRUE(lie_apart(plan.states[0].staging, plan.states[1].staging, 4 * 3));
}

struct Refused {
  static constexpr OpInfo info{
      .name = "Refused", .domain = "test", .inputs = "x:T", .outputs = "y:T", .types = "T:float"};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {
        {"never", [](const Request&) { return Offer::decline("too odd"); }}};
    return list;
  }
};

TEST(make_plan, a_node_that_no_kernel_takes_is_refused_with_the_reasons) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[2]"));
  graph.output("y", graph.add(Refused{}, {x}, {.name = "odd_one"}));
  for (const bool runs : {true, false}) {
    try {
      make_plan(graph, {.runs = runs});
      FAIL() << "no error";
    } catch (const UsageError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("Refused"), std::string::npos) << message;
      EXPECT_NE(message.find("too odd"), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace narrowgauge::make_plan_test
