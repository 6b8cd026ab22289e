// SPDX-License-Identifier: Apache-2.0
#include "groups/group_run.h"
#include "passes/fusion/form_groups.h"

namespace narrowgauge::activate_test {
namespace {

constexpr std::string_view forward = R"(graph "g" {
  %x = ng.Input {type=bf16[64,32,6,5]} : bf16[64,32,6,5]
  %w = ng.Input {type=bf16[64,32,3,3]} : bf16[64,32,3,3]
  %b = ng.Input {type=bf16[64]} : bf16[64]
  %c = Conv(%x, %w, %b) {pads=[1,1,1,1]} : bf16[64,64,6,5]
  %r = Relu(%c) : bf16[64,64,6,5]
  output "r" = %r
}
)";

// The first convolution of a network, from images of few channels.
constexpr std::string_view first = R"(graph "g" {
  %x = ng.Input {type=bf16[64,3,9,7]} : bf16[64,3,9,7]
  %w = ng.Input {type=bf16[64,3,3,3]} : bf16[64,3,3,3]
  %b = ng.Input {type=bf16[64]} : bf16[64]
  %v = ng.Input {type=bf16[32,64,3,3]} : bf16[32,64,3,3]
  %c = Conv(%x, %w, %b) {pads=[1,1,1,1]} : bf16[64,64,9,7]
  %r = Relu(%c) : bf16[64,64,9,7]
  %d = Conv(%r, %v) {pads=[1,1,1,1]} : bf16[64,32,9,7]
  output "r" = %r
  output "d" = %d
}
)";

// Through two Relus: behind a convolution, with a bias before it; and with a shortcut.
constexpr std::string_view backward = R"(graph "g" {
  %dy = ng.Input {type=bf16[32,64,5,7]} : bf16[32,64,5,7]
  %w = ng.Input {type=bf16[64,32,3,3]} : bf16[64,32,3,3]
  %y = ng.Input {type=bf16[32,32,5,7]} : bf16[32,32,5,7]
  %v = ng.Input {type=bf16[32,32,1,1]} : bf16[32,32,1,1]
  %skip = ng.Input {type=bf16[32,32,5,7]} : bf16[32,32,5,7]
  %d1 = ng.ConvDataGradient(%dy, %w) {pads=[1,1,1,1], shape=[32,32,5,7]} : bf16[32,32,5,7]
  %s1 = ng.ReluGradient(%y, %d1) : bf16[32,32,5,7]
  %b1 = ng.BroadcastGradient(%s1) {shape=[32,1,1]} : bf16[32,1,1]
  %d2 = ng.ConvDataGradient(%s1, %v) {shape=[32,32,5,7]} : bf16[32,32,5,7]
  %a2 = Add(%d2, %skip) : bf16[32,32,5,7]
  %s2 = ng.ReluGradient(%y, %a2) : bf16[32,32,5,7]
  output "s1" = %s1
  output "b1" = %b1
  output "s2" = %s2
}
)";

TEST(activate, takes_the_relu_behind_a_convolution) {
  const Graph fused = form_groups(laid_out(forward), with_amx);
  verify(fused, Stage::laid_out);
  EXPECT_EQ(count(fused, "ng.Fused"), 1) << print(fused);
  EXPECT_EQ(count(fused, "Conv") + count(fused, "Relu"), 0);
}

TEST(activate, takes_the_relu_behind_the_first_convolution) {
  const Graph fused = form_groups(laid_out(first), with_amx);
  verify(fused, Stage::laid_out);
  EXPECT_EQ(count(fused, "ng.Fused"), 1) << print(fused);
  EXPECT_EQ(count(fused, "Relu"), 0);
}

TEST(activate, takes_what_leads_back_through_a_relu) {
  const Graph fused = form_groups(laid_out(backward), with_amx);
  verify(fused, Stage::laid_out);
  EXPECT_EQ(count(fused, "ng.Fused"), 2) << print(fused);
  EXPECT_EQ(count(fused, "ng.ReluGradient") + count(fused, "ng.BroadcastGradient"), 0);
}

TEST(activate, leaves_a_convolution_that_somebody_else_reads) {
  std::string text(forward);
  text.insert(text.find("  output"), "  output \"c\" = %c\n");
  EXPECT_EQ(count(form_groups(laid_out(text), with_amx), "ng.Fused"), 0);
}

TEST(activate, leaves_what_no_kernel_takes) {
  const Graph plain = parse(forward, op_table());
  EXPECT_EQ(print(form_groups(plain, with_amx)), print(plain));
}

TEST(activate, values_are_those_of_the_nodes_apart) {
  expect_same_values(forward);
  for (const char* format : {"bf16", "f16", "f32"}) expect_same_values(in_format(first, format));
  expect_same_values(backward);
}

TEST(activate, bits_do_not_depend_on_threads) {
  expect_same_bits(forward);
  expect_same_bits(first);
  expect_same_bits(backward);
}

TEST(activate, nan_stays_one) {
  for (const std::string_view graph : {forward, first}) {
    const std::vector<Tensor> results = run(graph, {}, 2, std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(std::isnan(results[0].at(0)));
  }
}

}  // namespace
}  // namespace narrowgauge::activate_test
