// SPDX-License-Identifier: Apache-2.0
#include "passes/fuse_normalization.h"

#include "passes/group_run.h"

namespace narrowgauge {
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
  %n1 = BatchNormalization(%c1, %s, %b, %m, %s) {training_mode=1} : bf16[64,32,6,5], f32[32], f32[32], f32[32], f32[32]
  %r1 = Relu(%n1) : bf16[64,32,6,5]
  %c2 = Conv(%r1, %v) {pads=[1,1,1,1]} : bf16[64,32,6,5]
  %n2 = BatchNormalization(%c2, %s, %b, %m, %s) {training_mode=1} : bf16[64,32,6,5], f32[32], f32[32], f32[32], f32[32]
  %c3 = Conv(%x, %v) {pads=[1,1,1,1]} : bf16[64,32,6,5]
  %n3 = BatchNormalization(%c3, %s, %b, %m, %s) {training_mode=1} : bf16[64,32,6,5], f32[32], f32[32], f32[32], f32[32]
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

TEST(FuseNormalization, TakesTheConvolutionTheAddAndTheRelu) {
  if (isa() != Isa::amx) GTEST_SKIP() << "needs amx";
  const Graph fused = fuse_normalization(laid_out(residual));
  verify(fused, Stage::laid_out);
  EXPECT_EQ(count(fused, "Fused"), 3)
      << print(fused);  // the shortcut's has no Add: one can take it
  EXPECT_EQ(count(fused, "BatchNormalization") + count(fused, "Conv"), 0);
  EXPECT_EQ(count(fused, "Relu") + count(fused, "Add"), 0);
}

TEST(FuseNormalization, TakesTheGradientsBeforeTheNormalizations) {
  if (isa() != Isa::amx) GTEST_SKIP() << "needs amx";
  const Graph fused = fuse_normalization(laid_out(gradient));
  verify(fused, Stage::laid_out);
  EXPECT_EQ(count(fused, "Fused"), 2) << print(fused);
  EXPECT_EQ(count(fused, "BatchNormalizationGradient") + count(fused, "ReluGradient"), 0);
  EXPECT_EQ(count(fused, "ConvDataGradient"), 1);  // nothing reads dx1's but the caller
  EXPECT_EQ(count(fused, "Add"), 0);
}

TEST(FuseNormalization, LeavesWhatNoKernelTakes) {
  const Graph plain = parse(residual, op_table());
  EXPECT_EQ(print(fuse_normalization(plain)), print(plain));
}

TEST(FuseNormalization, LeavesAReluWhoseInputSomebodyElseReads) {
  std::string text(residual);
  text.insert(text.find("  output \"mean\""), "  output \"n1\" = %n1\n  output \"a\" = %a\n");
  const Graph fused = fuse_normalization(assign_layout(parse(text, op_table()), Layout::fastest));
  EXPECT_EQ(count(fused, "Relu"), 2);
  EXPECT_EQ(count(fused, "Add"), 1);
}

TEST(FuseNormalization, ValuesAreThoseOfTheNodesApart) { expect_same_values(residual); }

TEST(FuseNormalization, GradientsAreThoseOfTheNodesApart) { expect_same_values(gradient); }

TEST(FuseNormalization, F32AndF16AreFusedAsBf16Is) {
  for (const std::string_view text : {residual, gradient}) {
    for (const std::string_view format : {"f32", "f16"}) {
      if (isa() != Isa::amx) continue;
      EXPECT_EQ(count(fuse_normalization(laid_out(in_format(text, format))), "Fused"),
                count(fuse_normalization(laid_out(text)), "Fused"))
          << format;
    }
    expect_same_values(in_format(text, "f32"), 1e-5, 1e-5);
    expect_same_values(in_format(text, "f16"), 2e-3, 5e-4);
  }
}

TEST(FuseNormalization, BitsDoNotDependOnThreads) {
  for (const std::string_view text : {residual, gradient}) {
    expect_same_bits(text);
    for (const std::string_view format : {"f32", "f16"}) expect_same_bits(in_format(text, format));
  }
}

TEST(FuseNormalization, GoesToNaNWhereAnInputIsNotFinite) {
  const std::vector<Tensor> results = run(residual, {}, 2, std::numeric_limits<float>::infinity());
  for (std::size_t o = 1; o < results.size(); ++o)
    EXPECT_TRUE(std::any_of(results[o].values<float>().begin(), results[o].values<float>().end(),
                            [](float value) { return !std::isfinite(value); }))
        << o;
}

}  // namespace
}  // namespace narrowgauge
