// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan with captured values: coloured, applied, printed, parsed, and run.
#include "ops/control/control_flow.h"

#include <gtest/gtest.h>

#include "ops/activation/relu.h"
#include "ops/composition/interpret.h"
#include "ops/table.h"
#include "precision/apply.h"
#include "precision/colouring/policy.h"

namespace narrowgauge::control_flow_test {
namespace {

constexpr std::string_view scan_text = R"(graph "recurrence" {
  %h = ng.Input {type=f32[4]} : f32[4]
  %xs = ng.Input {type=f32[3,4]} : f32[3,4]
  %w = ng.Input {type=f32[4]} : f32[4]
  %scan = Scan(%h, %xs, %w) {num_scan_inputs=1, captured=1, body=graph "body" {
    %h = ng.Input {type=f32[4]} : f32[4]
    %x = ng.Input {type=f32[4]} : f32[4]
    %w = ng.Input {type=f32[4]} : f32[4]
    %wx = Mul(%w, %x) : f32[4]
    %next = Add(%h, %wx) : f32[4]
    output "h" = %next
    output "all" = %next
  }} : f32[4], f32[3,4]
  %last = Relu(%scan) : f32[4]
  %all = Relu(%scan@1) : f32[3,4]
  output "last" = %last
  output "all" = %all
}
)";

// if p: relu(x * w), else x + w
constexpr std::string_view if_text = R"(graph "choice" {
  %p = ng.Input {type=bool[]} : bool[]
  %x = ng.Input {type=f32[4]} : f32[4]
  %w = ng.Input {type=f32[4]} : f32[4]
  %if = If(%p, %x, %w) {then_branch=graph "then" {
    %x = ng.Input {type=f32[4]} : f32[4]
    %w = ng.Input {type=f32[4]} : f32[4]
    %product = Mul(%x, %w) : f32[4]
    %positive = Relu(%product) : f32[4]
    output "y" = %positive
  }, else_branch=graph "else" {
    %x = ng.Input {type=f32[4]} : f32[4]
    %w = ng.Input {type=f32[4]} : f32[4]
    %sum = Add(%x, %w) : f32[4]
    output "y" = %sum
  }} : f32[4]
  %end = Relu(%if) : f32[4]
  output "end" = %end
}
)";

constexpr std::string_view loop_text = R"(graph "rounds" {
  %trips = Constant {value=i64[]{3}} : i64[]
  %x = ng.Input {type=f32[4]} : f32[4]
  %w = ng.Input {type=f32[4]} : f32[4]
  %loop = Loop(%trips, _, %x, %w) {carried=1, body=graph "body" {
    %iteration = ng.Input {type=i64[]} : i64[]
    %go = ng.Input {type=bool[]} : bool[]
    %x = ng.Input {type=f32[4]} : f32[4]
    %w = ng.Input {type=f32[4]} : f32[4]
    %product = Mul(%x, %w) : f32[4]
    output "go" = %go
    output "x" = %product
    output "all" = %product
  }} : f32[4], f32[3,4]
  %end = Relu(%loop) : f32[4]
  %all = Relu(%loop@1) : f32[3,4]
  output "end" = %end
  output "all" = %all
}
)";

PrecisionPlan plan_of(const Graph& graph, std::vector<std::string> overrides) {
  return make_precision_plan(graph, {.narrow = DType::f16, .overrides = std::move(overrides)});
}

DType format(const PrecisionPlan& plan, std::string_view name) {
  const PlanEntry* entry = plan.find(name);
  require(entry && entry->dtype, "no format for ", name);
  return *entry->dtype;
}

// The applied graph is legal, its text reads back, and it computes what f32 does to f16's accuracy.
void check_applied(const Graph& graph, const PrecisionPlan& plan,
                   const std::vector<Tensor>& inputs) {
  const Graph applied = apply(graph, plan);
  verify(applied, Stage::precise);
  EXPECT_EQ(print(parse(print(applied), op_table())), print(applied));
  EXPECT_EQ(read_plan(print(plan), graph), plan);
  const auto expected = interpret(graph, inputs), got = interpret(applied, inputs);
  ASSERT_EQ(got.size(), expected.size());
  bool rounded = false;
  for (std::size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].type(), expected[k].type());
    for (std::int64_t i = 0; i < got[k].size(); ++i) {
      EXPECT_NEAR(got[k].at(i), expected[k].at(i), 4e-3);
      rounded = rounded || got[k].at(i) != expected[k].at(i);
    }
  }
  EXPECT_TRUE(rounded) << "nothing was computed in f16";
}

Tensor some(Dims dims, float first) {
  Tensor result(DType::f32, std::move(dims));
  for (std::int64_t i = 0; i < result.size(); ++i)
    result.set(i, first + 0.1234567 * static_cast<double>(i % 7));
  return result;
}

TEST(control_flow, scan_carries_captures_and_stacks_in_f16) {
  const Graph graph = parse(scan_text, op_table());
  const PrecisionPlan plan = plan_of(graph, {"*:wx=allow"});
  EXPECT_EQ(format(plan, "scan:body:wx"), DType::f16);
  EXPECT_EQ(format(plan, "scan:body:next"), DType::f16);
  EXPECT_EQ(format(plan, "scan:in0"), DType::f16);   // the state
  EXPECT_EQ(format(plan, "scan:in1"), DType::f16);   // what is scanned
  EXPECT_EQ(format(plan, "scan:in2"), DType::f16);   // what is captured
  EXPECT_EQ(format(plan, "scan:out1"), DType::f16);  // what is stacked
  check_applied(graph, plan, {some({4}, 0.3f), some({3, 4}, 0.2f), some({4}, 0.1f)});
}

TEST(control_flow, if_takes_and_gives_in_f16) {
  const Graph graph = parse(if_text, op_table());
  const PrecisionPlan plan = plan_of(graph, {"*:product=allow", "*:sum=allow"});
  EXPECT_EQ(format(plan, "if:in1"), DType::f16);
  EXPECT_EQ(format(plan, "if:out0"), DType::f16);
  EXPECT_EQ(format(plan, "if:then_branch:positive"), DType::f16);
  for (const double p : {0.0, 1.0})
    check_applied(graph, plan,
                  {Tensor::scalar(DType::boolean, p), some({4}, 0.3f), some({4}, 0.1f)});
}

TEST(control_flow, loop_carries_in_f16_and_keeps_its_counter) {
  const Graph graph = parse(loop_text, op_table());
  const PrecisionPlan plan = plan_of(graph, {"*:product=allow"});
  EXPECT_EQ(format(plan, "loop:in2"), DType::f16);
  EXPECT_EQ(format(plan, "loop:out1"), DType::f16);
  EXPECT_EQ(plan.find("loop:in0"), nullptr);  // the number of rounds
  check_applied(graph, plan, {some({4}, 0.9f), some({4}, 0.7f)});
}

TEST(control_flow, a_loop_may_have_nothing_but_its_count) {
  Graph body("body");
  body.input("iteration", TensorType::parse("i64[]"));
  body.output("going", body.input("going", TensorType::parse("bool[]")));
  body.output("seven", body.constant(Tensor::scalar(DType::f32, 7)));
  Graph graph;
  const Value trips = graph.constant(Tensor::scalar(DType::i64, 3));
  graph.output("y", graph.add(Loop{std::make_shared<const Graph>(std::move(body)), 0}, {trips}));
  const Tensor y = interpret(graph, {})[0];
  EXPECT_EQ(y.dims(), Dims{3});
  EXPECT_EQ(y.at(2), 7);
}

}  // namespace
}  // namespace narrowgauge::control_flow_test
