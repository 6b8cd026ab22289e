// SPDX-License-Identifier: Apache-2.0
#include "groups/fused.h"
#include "groups/group_run.h"

namespace narrowgauge::bottleneck_test {
namespace {

// Each convolution has an epilogue; the results are %a, %d and %p.
constexpr std::string_view network = R"(graph "g" {
  %x = ng.Input {type=f32[2,16,18,15]} : f32[2,16,18,15]
  %v = ng.State {type=f32[40,16,1,1]} : f32[40,16,1,1]
  %w = ng.State {type=f32[40,1,3,3]} : f32[40,1,3,3]
  %u = ng.State {type=f32[16,40,1,1]} : f32[16,40,1,1]
  %b = ng.State {type=f32[40]} : f32[40]
  %zero = Constant {value=f32[]{0}} : f32[]
  %six = Constant {value=f32[]{6}} : f32[]
  %a = Conv(%x, %v, %b) : f32[2,40,18,15] @math=ieee
$expanded  %d = Conv(%e, %w) {group=40, pads=[1,1,1,1]} : f32[2,40,18,15] @math=ieee
$filtered  %p = Conv(%f, %u) : f32[2,16,18,15] @math=ieee
$last  state %v role=parameter initial=normal(0,1) next=%v
  state %w role=parameter initial=normal(0,1) next=%w
  state %u role=parameter initial=normal(0,1) next=%u
  state %b role=parameter initial=normal(0,1) next=%b
  output "y" = %y
}
)";

std::string with(std::string_view expanded, std::string_view filtered, std::string_view last) {
  const std::string wide = " : f32[2,40,18,15]\n", narrow = " : f32[2,16,18,15]\n";
  std::string text = replaced(std::string(network), "$expanded", concat("  %e = ", expanded, wide));
  text = replaced(text, "$filtered", concat("  %f = ", filtered, wide));
  return replaced(text, "$last", concat("  %y = ", last, narrow));
}

std::vector<std::string> taken() {
  return {with("Clip(%a, %zero, %six)", "Clip(%d, %zero, %six)", "Add(%x, %p)"),
          with("Relu(%a)", "Relu(%d)", "Add(%p, %x)"),
          with("Relu(%a)", "Relu(%d)", "Clip(%p, %zero, %six)"),
          with("Relu(%a)", "Clip(%d, _, %six)", "Tanh(%p)")};
}

std::int64_t bottlenecks(const std::string& text) {
  std::int64_t found = 0;
  for (const PlanStep& step : compile(parse(text, op_table()), {}).steps)
    found += step.implementation.starts_with("bottleneck of f32");
  return found;
}

TEST(bottleneck, takes_its_convolutions_and_what_stands_between) {
  for (const std::string& text : taken())
    EXPECT_EQ(bottlenecks(text), isa() >= Isa::avx512 ? 1 : 0) << text;
  // What stands between them is another op, or is read elsewhere too.
  EXPECT_EQ(bottlenecks(with("Tanh(%a)", "Relu(%d)", "Relu(%p)")), 0);
  const std::string text = with("Relu(%a)", "Relu(%d)", "Relu(%p)");
  EXPECT_EQ(bottlenecks(replaced(text, "output \"y\"", "output \"f\" = %f\n  output \"y\"")), 0);
}

TEST(bottleneck, takes_the_bounds_behind_its_projection) {
  const std::string text = with("Relu(%a)", "Relu(%d)", "Clip(%p, %zero, %six)");
  for (const PlanStep& step : compile(parse(text, op_table()), {}).steps)
    EXPECT_TRUE(isa() < Isa::avx512 || !step.implementation.starts_with("strips"))
        << step.implementation;
}

TEST(bottleneck, values_are_those_of_the_nodes_apart) {
  for (const std::string& text : taken()) expect_same_values(text, 0, 1e-6);
}

// The kernel reads it as f32.
TEST(bottleneck, leaves_a_narrow_residual_alone) {
  std::string text = with("Relu(%a)", "Relu(%d)", "Add(%p, %c)");
  text = replaced(text, "  %v = ng.State",
                  "  %h = ng.Input {type=bf16[2,16,18,15]} : bf16[2,16,18,15]\n"
                  "  %c = Cast(%h) {to=f32} : f32[2,16,18,15]\n  %v = ng.State");
  expect_same_values(text, 0, 1e-6);
}

TEST(bottleneck, bits_do_not_depend_on_the_number_of_threads) {
  for (const std::string& text : taken()) expect_same_bits(text);
}

}  // namespace
}  // namespace narrowgauge::bottleneck_test
