// SPDX-License-Identifier: Apache-2.0
#include "groups/group_run.h"

namespace narrowgauge::bounded_test {
namespace {

constexpr std::string_view depthwise = R"(graph "g" {
  %x = ng.Input {type=bf16[3,40,9,16]} : bf16[3,40,9,16]
  %r = ng.Input {type=bf16[3,40,5,8]} : bf16[3,40,5,8]
  %w = ng.Input {type=bf16[40,1,3,3]} : bf16[40,1,3,3]
  %v = ng.Input {type=bf16[40,1,5,5]} : bf16[40,1,5,5]
  %b = ng.Input {type=bf16[40]} : bf16[40]
  %low = Constant {value=bf16[]{-0.5}} : bf16[]
  %high = Constant {value=bf16[]{6}} : bf16[]
  %c = Conv(%x, %w, %b) {group=40, pads=[1,1,1,1], strides=[2,2]} : bf16[3,40,5,8]
  %s = Add(%c, %r) : bf16[3,40,5,8]
  %y = Clip(%s, %low, %high) : bf16[3,40,5,8]
  %d = Conv(%r, %v) {group=40, pads=[2,2,2,2]} : bf16[3,40,5,8]
  %e = Relu(%d) : bf16[3,40,5,8]
  %z = Clip(%e, _, %high) : bf16[3,40,5,8]
  output "y" = %y
  output "z" = %z
}
)";

TEST(bounded, values_are_those_of_the_nodes_apart) {
  const Graph formed = run_pipeline(parse(depthwise, op_table()), {});
  // Below AVX-512 only what is elementwise becomes one.
  EXPECT_EQ(count(formed, "Conv"), isa() >= Isa::avx512 ? 0 : 2) << print(formed);
  expect_same_values(depthwise);
}

TEST(bounded, bits_do_not_depend_on_threads) { expect_same_bits(depthwise); }

TEST(bounded, nan_stays_one) {
  const std::vector<Tensor> results =
      run(depthwise, {}, 2, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(results[0].at(0)));
}

}  // namespace
}  // namespace narrowgauge::bounded_test
