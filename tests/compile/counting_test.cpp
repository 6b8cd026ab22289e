// SPDX-License-Identifier: Apache-2.0
// What a plan says of its steps' FLOPs and bytes.
#include <gtest/gtest.h>

#include "compile/compile.h"
#include "narrowgauge/network.h"

namespace narrowgauge::counting_test {
namespace {

const PlanStep& step_of(const Plan& plan, std::string_view op) {
  for (const PlanStep& step : plan.steps)
    if (step.op == op) return step;
  throw UsageError(concat("the plan has no ", op));
}

Plan plan_of(const std::function<Value(Network&)>& build) {
  Network network("counted", Mode::train);
  network.graph().output("y", build(network));
  return compile(network.graph(), {.binding = {{"N", 4}}, .layout = Layout::plain});
}

TEST(counting, convolutions_have_their_multiplications_and_additions_and_operands) {
  const Plan plan = plan_of([](Network& net) {
    return net.conv(net.input("x", {net.batch(), 6, 10, 10}), 8,
                    {.kernel = 3, .stride = 2, .groups = 2, .bias = false});
  });
  const PlanStep& conv = step_of(plan, "Conv");
  EXPECT_EQ(conv.flops, 2. * 4 * 8 * 5 * 5 * (6. / 2) * 9);
  EXPECT_EQ(conv.bytes, 4 * (4 * 6 * 100 + 8 * 3 * 9 + 4 * 8 * 25));
}

TEST(counting, products_have_their_multiplications_and_additions_and_operands) {
  const Plan plan = plan_of([](Network& net) {
    return net.linear(net.input("x", {net.batch(), 30}), 7);
  });
  const PlanStep& gemm = step_of(plan, "Gemm");
  EXPECT_EQ(gemm.flops, 2. * 4 * 30 * 7);
  EXPECT_EQ(gemm.bytes, 4 * (4 * 30 + 30 * 7 + 7 + 4 * 7));
}

TEST(counting, views_move_nothing) {
  const Plan plan = plan_of([](Network& net) {
    return net.relu(net.flatten(net.input("x", {net.batch(), 3, 5})));
  });
  std::int64_t bytes = 0;
  for (const PlanStep& step : plan.steps) bytes += step.bytes;
  EXPECT_EQ(bytes, step_of(plan, "Relu").bytes);
  EXPECT_EQ(bytes, 4 * 2 * 4 * 15);
}

TEST(counting, gather_reads_the_rows_that_it_writes) {
  const Plan plan = plan_of([](Network& net) {
    const Value table = net.parameter("table", {1000, 16}, Initial{});
    return net.op("Gather", {table, net.input("ids", {net.batch(), 3}, DType::i64)}, "axis=0");
  });
  EXPECT_EQ(step_of(plan, "Gather").bytes, 2 * 4 * 4 * 3 * 16 + 8 * 4 * 3);
}

}  // namespace
}  // namespace narrowgauge::counting_test
