// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "groups/fused.h"
#include "groups/group_run.h"
#include "passes/fusion/form_groups.h"
#include "passes/training/differentiate.h"

namespace narrowgauge::normalize_test {
namespace {

// A convolution, normalized; added to a shortcut that is normalized too; and both statistics.
constexpr std::string_view residual = R"(graph "g" {
  %x = ng.Input {type=bf16[64,32,6,5]} : bf16[64,32,6,5]
  %w = ng.Input {type=bf16[32,32,3,3]} : bf16[32,32,3,3]
  %v = ng.Input {type=bf16[32,32,3,3]} : bf16[32,32,3,3]
  %s = ng.Input {type=f32[32]} : f32[32]
  %b = ng.Input {type=f32[32]} : f32[32]
  %m = ng.Input {type=f32[32]} : f32[32]
  %c1 = Conv(%x, %w) {pads=[1,1,1,1]} : bf16[64,32,6,5]
  %n1 = BatchNormalization(%c1, %s, %b, %m, %s) {training_mode=1} : bf16[64,32,6,5], f32[32], f32[32], f32[32], f32[32], f32[32]
  %r1 = Relu(%n1) : bf16[64,32,6,5]
  %c2 = Conv(%r1, %v) {pads=[1,1,1,1]} : bf16[64,32,6,5]
  %n2 = BatchNormalization(%c2, %s, %b, %m, %s) {training_mode=1} : bf16[64,32,6,5], f32[32], f32[32], f32[32], f32[32], f32[32]
  %c3 = Conv(%x, %v) {pads=[1,1,1,1]} : bf16[64,32,6,5]
  %n3 = BatchNormalization(%c3, %s, %b, %m, %s) {training_mode=1} : bf16[64,32,6,5], f32[32], f32[32], f32[32], f32[32], f32[32]
  %a = Add(%n2, %n3) : bf16[64,32,6,5]
  %r = Relu(%a) : bf16[64,32,6,5]
  output "r" = %r
  output "mean" = %n1@1
  output "variance" = %n2@2
  output "saved mean" = %n3@3
  output "inverse deviation" = %n2@4
}
)";

// The gradient of a sum of two normalizations behind a Relu; it reaches a convolution's input and a
// shortcut, which adds its own.
constexpr std::string_view gradient = R"(graph "g" {
  %dy = ng.Input {type=bf16[32,64,5,7]} : bf16[32,64,5,7]
  %w = ng.Input {type=bf16[64,32,3,3]} : bf16[64,32,3,3]
  %skip = ng.Input {type=bf16[32,32,5,7]} : bf16[32,32,5,7]
  %y = ng.Input {type=bf16[32,32,5,7]} : bf16[32,32,5,7]
  %x1 = ng.Input {type=bf16[32,32,5,7]} : bf16[32,32,5,7]
  %x2 = ng.Input {type=bf16[32,32,5,7]} : bf16[32,32,5,7]
  %v = ng.Input {type=bf16[32,32,1,1]} : bf16[32,32,1,1]
  %s = ng.Input {type=f32[32]} : f32[32]
  %m = ng.Input {type=f32[32]} : f32[32]
  %dc = ng.ConvDataGradient(%dy, %w) {pads=[1,1,1,1], shape=[32,32,5,7]} : bf16[32,32,5,7]
  %da = Add(%skip, %dc) : bf16[32,32,5,7]
  %dr = ng.ReluGradient(%y, %da) : bf16[32,32,5,7]
  %n1 = ng.BatchNormalizationGradient(%dr, %x1, %s, %m, %s) : bf16[32,32,5,7], f32[32], f32[32]
  %n2 = ng.BatchNormalizationGradient(%dr, %x2, %s, %m, %s) : bf16[32,32,5,7], f32[32], f32[32]
  %c1 = ng.ConvDataGradient(%n1, %v) {shape=[32,32,5,7]} : bf16[32,32,5,7]
  %c2 = ng.ConvDataGradient(%n2, %v) {shape=[32,32,5,7]} : bf16[32,32,5,7]
  %dr2 = ng.ReluGradient(%y, %c2) : bf16[32,32,5,7]
  %n3 = ng.BatchNormalizationGradient(%dr2, %x1, %s, %m, %s) : bf16[32,32,5,7], f32[32], f32[32]
  %s3 = Add(%n3, %skip) : bf16[32,32,5,7]
  output "dx1" = %n1
  output "dscale1" = %n1@1
  output "dbias1" = %n1@2
  output "dx2" = %n2
  output "dscale2" = %n2@1
  output "skip" = %dr
  output "c1" = %c1
  output "dx3" = %s3
  output "dscale3" = %n3@1
}
)";

TEST(normalize_group, takes_the_convolution_the_add_and_the_relu) {
  const Graph fused = form_groups(laid_out(residual), with_amx);
  verify(fused, Stage::laid_out);
  EXPECT_EQ(count(fused, "ng.Fused"), 3)
      << print(fused);  // the shortcut's has no Add: one can take it
  EXPECT_EQ(count(fused, "BatchNormalization") + count(fused, "Conv"), 0);
  EXPECT_EQ(count(fused, "Relu") + count(fused, "Add"), 0);
}

TEST(normalize_group, takes_the_gradients_before_the_normalizations) {
  const Graph fused = form_groups(laid_out(gradient), with_amx);
  verify(fused, Stage::laid_out);
  EXPECT_EQ(count(fused, "ng.Fused"), 2) << print(fused);
  EXPECT_EQ(count(fused, "ng.BatchNormalizationGradient") + count(fused, "ng.ReluGradient"), 0);
  EXPECT_EQ(count(fused, "ng.ConvDataGradient"), 1);  // nothing reads dx1's but the caller
  EXPECT_EQ(count(fused, "Add"), 0);
}

// Images that make no whole blocks.
std::string in_other_sizes(std::string_view text) {
  const std::string images = replaced(std::string(text), "[64,32,6,5]", "[5,24,6,5]");
  return replaced(replaced(images, "[32,32,3,3]", "[24,24,3,3]"), "f32[32]", "f32[24]");
}

TEST(normalize_group, other_layouts_are_fused_behind_the_convolution) {
  const std::string text = in_other_sizes(residual);
  for (const Graph& graph : {parse(text, op_table()), laid_out(text)}) {
    const Graph fused = form_groups(graph, with_amx);
    verify(fused, Stage::laid_out);
    EXPECT_EQ(count(fused, "ng.Fused"), 2) << print(fused);
    EXPECT_EQ(count(fused, "Relu") + count(fused, "Add"), 0);
    EXPECT_EQ(count(fused, "Conv"), 3);
  }
  expect_same_values(text);
  expect_same_values(in_format(text, "f32"), 1e-5, 1e-5);
  expect_same_values(in_format(text, "f16"), 2e-3, 5e-4);
  expect_same_bits(text);
}

TEST(normalize_group, leaves_what_no_kernel_takes) {
  const std::string text = in_format(in_other_sizes(residual), "f64");
  const Graph wide = parse(replaced(text, "f32", "f64"), op_table());
  EXPECT_EQ(print(form_groups(wide, with_amx)), print(wide));
}

TEST(normalize_group, leaves_a_relu_whose_input_somebody_else_reads) {
  std::string text(residual);
  text.insert(text.find("  output \"mean\""), "  output \"n1\" = %n1\n  output \"a\" = %a\n");
  const Graph fused =
      form_groups(assign_layout(parse(text, op_table()), Layout::fastest, with_amx), with_amx);
  EXPECT_EQ(count(fused, "Relu"), 2);
  EXPECT_EQ(count(fused, "Add"), 1);
}

TEST(normalize_group, values_are_those_of_the_nodes_apart) { expect_same_values(residual); }

TEST(normalize_group, gradients_are_those_of_the_nodes_apart) { expect_same_values(gradient); }

TEST(normalize_group, f32_and_f16_are_fused_as_bf16_is) {
  for (const std::string_view text : {residual, gradient}) {
    for (const std::string_view format : {"f32", "f16"}) {
      EXPECT_EQ(count(form_groups(laid_out(in_format(text, format)), with_amx), "ng.Fused"),
                count(form_groups(laid_out(text), with_amx), "ng.Fused"))
          << format;
    }
    expect_same_values(in_format(text, "f32"), 1e-5, 1e-5);
    expect_same_values(in_format(text, "f16"), 2e-3, 5e-4);
  }
}

TEST(normalize_group, bits_do_not_depend_on_threads) {
  for (const std::string_view text : {residual, gradient}) {
    expect_same_bits(text);
    for (const std::string_view format : {"f32", "f16"}) expect_same_bits(in_format(text, format));
  }
}

TEST(normalize_group, goes_to_nan_where_an_input_is_not_finite) {
  const std::vector<Tensor> results = run(residual, {}, 2, std::numeric_limits<float>::infinity());
  for (std::size_t o = 1; o < results.size(); ++o)
    EXPECT_TRUE(std::any_of(results[o].values<float>().begin(), results[o].values<float>().end(),
                            [](float value) { return !std::isfinite(value); }))
        << o;
}

// A residual block, then a normalization without a Relu; with the gradients of everything. If
// `scaled`, the block's first activation is multiplied, so that the backward pass needs it.
std::string trained(std::string_view size, bool scaled = false) {
  std::string text = R"(graph "g" {
  %x = ng.Input {type=bf16[32,32,SIZE]} : bf16[32,32,SIZE]
  %w1 = ng.Input {type=bf16[64,32,1,1]} : bf16[64,32,1,1]
  %w2 = ng.Input {type=bf16[32,64,3,3]} : bf16[32,64,3,3]
  %w3 = ng.Input {type=bf16[32,32,1,1]} : bf16[32,32,1,1]
  %s1 = ng.Input {type=f32[64]} : f32[64]
  %b1 = ng.Input {type=f32[64]} : f32[64]
  %s = ng.Input {type=f32[32]} : f32[32]
  %b = ng.Input {type=f32[32]} : f32[32]
  %c1 = Conv(%x, %w1) : bf16[32,64,SIZE]
  %n1 = BatchNormalization(%c1, %s1, %b1, %b1, %s1) {training_mode=1} : bf16[32,64,SIZE], f32[64], f32[64], f32[64], f32[64], f32[64]
  %r1 = Relu(%n1) : bf16[32,64,SIZE]
  %c2 = Conv(%r1, %w2) {pads=[1,1,1,1]} : bf16[32,32,SIZE]
  %n2 = BatchNormalization(%c2, %s, %b, %b, %s) {training_mode=1} : bf16[32,32,SIZE], f32[32], f32[32], f32[32], f32[32], f32[32]
  %a = Add(%n2, %x) : bf16[32,32,SIZE]
  %r = Relu(%a) : bf16[32,32,SIZE]
  %c3 = Conv(%r, %w3) : bf16[32,32,SIZE]
  %n3 = BatchNormalization(%c3, %s, %b, %b, %s) {training_mode=1} : bf16[32,32,SIZE], f32[32], f32[32], f32[32], f32[32], f32[32]
  %c4 = Conv(%n3, %w3) : bf16[32,32,SIZE]
  output "y" = %c4
}
)";
  if (scaled) {
    text = replaced(text, "Conv(%r1, %w2)", "Conv(%q, %w2)");
    text = replaced(text, "  %c2 =",
                    "  %k = ng.Input {type=bf16[32,64,SIZE]} : bf16[32,64,SIZE]\n"
                    "  %q = Mul(%r1, %k) : bf16[32,64,SIZE]\n  %c2 =");
  }
  return print(differentiate(parse(replaced(text, "SIZE", size), op_table())));
}

// How many there are, also inside groups.
std::int64_t count_again(const Graph& graph) {
  std::int64_t found = count(graph, "ng.NormalizeAgain");
  for (const Node& node : graph.nodes())
    if (node.is<Fused>()) found += count(*node.as<Fused>().body, "ng.NormalizeAgain");
  return found;
}

TEST(normalize_again, one_of_two_tensors_is_kept) {
  const Graph graph = parse(trained("6,5"), op_table());
  const Graph compiled = run_pipeline(graph, {});
  EXPECT_EQ(count(compiled, "ng.NormalizeAgain"), 0);
  EXPECT_EQ(count_again(compiled), isa() == Isa::amx ? 3 : 0) << print(compiled);
  const std::int64_t kept = compile(graph, {.normalize_again = false}).value_bytes;
  EXPECT_EQ(compile(graph, {}).value_bytes < kept, isa() == Isa::amx);
}

TEST(normalize_again, bits_are_those_of_the_kept_tensor) {
  for (const std::string_view size : {"6,5", "18,20", "8,70"})
    for (const std::string_view format : {"bf16", "f16", "f32"}) {
      if (size != "6,5" && isa() != Isa::amx) continue;
      const std::string text = in_format(trained(size), format);
      const std::vector<Tensor> kept = run(text, {.normalize_again = false});
      for (const Tensor& tensor : kept)
        for (std::int64_t i = 0; i < tensor.size() && format != "f16"; ++i)
          ASSERT_TRUE(std::isfinite(tensor.at(i)));
      for (const int threads : {1, 3}) {
        const std::vector<Tensor> again = run(text, {}, threads);
        for (std::size_t o = 0; o < kept.size(); ++o)
          EXPECT_EQ(std::memcmp(kept[o].data(), again[o].data(),
                                static_cast<std::size_t>(kept[o].bytes())),
                    0)
              << format << ' ' << size << ", output " << o;
      }
    }
}

TEST(normalize_again, what_is_kept_anyway_is_read) {
  const Graph graph = parse(trained("6,5", true), op_table());
  EXPECT_EQ(count_again(run_pipeline(graph, {})), isa() == Isa::amx ? 1 : 0);
}

}  // namespace
}  // namespace narrowgauge::normalize_test
