// SPDX-License-Identifier: Apache-2.0
#include "groups/group_run.h"
#include "passes/fusion/form_groups.h"

namespace narrowgauge::gelu_test {
namespace {

constexpr std::string_view forward = R"(graph "g" {
  %x = ng.Input {type=bf16[64,96]} : bf16[64,96]
  %w = ng.Input {type=bf16[160,96]} : bf16[160,96]
  %b = ng.Input {type=bf16[160]} : bf16[160]
  %p = Gemm(%x, %w, %b) {transB=1} : bf16[64,160]
  %s = ng.ReshapeTo(%p) {shape=[2,32,160]} : bf16[2,32,160]
  %y = Gelu(%s) : bf16[2,32,160]
  output "s" = %s
  output "y" = %y
}
)";

constexpr std::string_view backward = R"(graph "g" {
  %dy = ng.Input {type=bf16[64,96]} : bf16[64,96]
  %w = ng.Input {type=bf16[96,160]} : bf16[96,160]
  %s = ng.Input {type=bf16[2,32,160]} : bf16[2,32,160]
  %p = Gemm(%dy, %w) : bf16[64,160]
  %d = ng.ReshapeTo(%p) {shape=[2,32,160]} : bf16[2,32,160]
  %g = ng.GeluGradient(%s, %d) : bf16[2,32,160]
  %r = ng.ReshapeTo(%g) {shape=[64,160]} : bf16[64,160]
  %n = ng.BroadcastGradient(%r) {shape=[160]} : bf16[160]
  output "r" = %r
  output "n" = %n
}
)";

std::string without(std::string_view text, std::string_view line) {
  std::string out(text);
  const std::size_t begin = out.find(line);
  out.erase(begin, out.find('\n', begin) + 1 - begin);
  return out;
}

TEST(gelu_group, takes_the_product_before_and_behind) {
  for (const std::string_view text : {forward, backward}) {
    const Graph fused = form_groups(laid_out(text), with_amx);
    verify(fused, Stage::laid_out);
    EXPECT_EQ(count(fused, "ng.Fused"), 1) << print(fused);
    EXPECT_EQ(count(fused, "Gemm") + count(fused, "Gelu") + count(fused, "ng.GeluGradient"), 0);
    EXPECT_EQ(count(fused, "ng.BroadcastGradient") + count(fused, "ng.ReshapeTo"), 0);
  }
}

TEST(gelu_group, takes_what_is_there_of_them) {
  const std::string texts[] = {
      without(forward, "  output \"s\""), without(without(backward, "  %n"), "  output \"n\""),
      replaced(replaced(without(forward, "  %s ="), "%s", "%p"), "2,32,160", "64,160"),
      replaced(replaced(replaced(without(without(backward, "  %d ="), "  %r ="), "%d)", "%p)"),
                        "%r", "%g"),
               "2,32,160", "64,160")};
  for (const std::string& text : texts) {
    const Graph fused = form_groups(laid_out(text), with_amx);
    EXPECT_EQ(count(fused, "ng.Fused"), 1) << print(fused);
    EXPECT_EQ(count(fused, "Gemm"), 0);
    expect_same_values(text);
  }
}

TEST(gelu_group, leaves_what_no_kernel_takes) {
  for (const std::string& text :
       {replaced(std::string(forward), "Gelu(%s)", "Gelu(%s) {approximate=\"tanh\"}"),
        replaced(std::string(forward), "bf16", "f32"),
        replaced(std::string(backward), "Gemm(%dy, %w)", "Gemm(%dy, %w) {alpha=0.5}"),
        replaced(std::string(backward), "  output \"n\"", "  output \"d\" = %d\n  output \"n\"")})
    EXPECT_EQ(count(form_groups(laid_out(text), with_amx), "ng.Fused"), 0) << text;
}

TEST(gelu_group, values_are_those_of_the_nodes_apart) {
  expect_same_values(forward);
  expect_same_values(backward);
}

TEST(gelu_group, bits_do_not_depend_on_threads) {
  expect_same_bits(forward);
  expect_same_bits(backward);
}

}  // namespace
}  // namespace narrowgauge::gelu_test
