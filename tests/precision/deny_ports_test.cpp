// SPDX-License-Identifier: Apache-2.0
// What a deny op makes is read in f32 by every floating-point port, whatever its type: the values
// of graphs in which f16 between the two would lose them.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/composition/interpret.h"
#include "ops/table.h"
#include "precision/apply.h"
#include "precision/colouring/policy.h"

namespace narrowgauge::deny_ports_test {
namespace {

Tensor filled(Dims dims, float value) {
  Tensor result(DType::f32, std::move(dims));
  for (float& x : result.values<float>()) x = value;
  return result;
}

// The graph as it is, then as a plan in f16 has it.
void expect_same_in_f16(std::string_view text, const std::vector<Tensor>& inputs) {
  const Graph graph = parse(text, op_table());
  PrecisionRequest options;
  options.narrow = DType::f16;
  const PrecisionPlan plan = make_precision_plan(graph, options);
  EXPECT_EQ(plan.find("relu")->rule, PrecisionRule::deny_propagated);
  const std::vector<Tensor> expected = interpret(graph, inputs);
  const std::vector<Tensor> found = interpret(apply(graph, plan), inputs);
  const float wanted = expected.at(0).values<float>()[0], got = found.at(0).values<float>()[0];
  EXPECT_NEAR(got, wanted, std::ldexp(std::abs(wanted), -10));
}

// 0.99998^exp(11.5) = 0.138; f16 has no number between 0.9995 and 1, and exp(11.5) is beyond it.
TEST(deny_ports, an_exponent_is_read_in_f32) {
  expect_same_in_f16(
      R"(graph "exponent" {
  %x = ng.Input {type=f32[2,2]} : f32[2,2]
  %base = ng.Input {type=f32[2,2]} : f32[2,2]
  %w = ng.Input {type=f32[2,2]} : f32[2,2]
  %exp = Exp(%x) : f32[2,2]
  %relu = Relu(%exp) : f32[2,2]
  %power = Pow(%base, %relu) : f32[2,2]
  %product = MatMul(%relu, %w) : f32[2,2]
  %end = Neg(%product) : f32[2,2]
  output "power" = %power
  output "end" = %end
}
)",
      {filled({2, 2}, 11.5F), filled({2, 2}, 0.99998F), filled({2, 2}, 1e-6F)});
}

// exp(12) = 162,755 is more than f16 holds; times 0.37 it is 6e4.
TEST(deny_ports, a_scale_is_read_in_f32) {
  expect_same_in_f16(R"(graph "scale" {
  %x = ng.Input {type=f32[1,2,1,1]} : f32[1,2,1,1]
  %e = ng.Input {type=f32[2]} : f32[2]
  %w = ng.Input {type=f32[2,2,1,1]} : f32[2,2,1,1]
  %zero = ng.Input {type=f32[2]} : f32[2]
  %one = ng.Input {type=f32[2]} : f32[2]
  %exp = Exp(%e) : f32[2]
  %relu = Relu(%exp) : f32[2]
  %norm = BatchNormalization(%x, %relu, %zero, %zero, %one) : f32[1,2,1,1]
  %conv = Conv(%x, %w, %relu) : f32[1,2,1,1]
  %end = Neg(%conv) : f32[1,2,1,1]
  output "norm" = %norm
  output "end" = %end
}
)",
                     {filled({1, 2, 1, 1}, 0.37F), filled({2}, 12), filled({2, 2, 1, 1}, 1),
                      filled({2}, 0), filled({2}, 1)});
}

}  // namespace
}  // namespace narrowgauge::deny_ports_test
