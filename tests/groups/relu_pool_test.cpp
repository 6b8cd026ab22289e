// SPDX-License-Identifier: Apache-2.0
#include "groups/group_run.h"

namespace narrowgauge::relu_pool_test {
namespace {

constexpr std::string_view network = R"(graph "g" {
  %x = ng.Input {type=bf16[3,5,7,9]} : bf16[3,5,7,9]
  %r = Relu(%x) : bf16[3,5,7,9]
  %p = MaxPool(%r) {kernel_shape=[3,2], pads=[1,1,2,0], strides=[2,1]} : bf16[3,5,4,9]
  output "p" = %p
}
)";

TEST(relu_pool, values_are_those_of_the_nodes_apart) {
  for (const std::string_view format : {"bf16", "f16", "f32"})
    expect_same_values(replaced(std::string(network), "bf16", format), 0, 0);
}

TEST(relu_pool, nan_stays_one) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CompileOptions apart;
  apart.fuse = false;
  const Tensor expected = run(network, apart, 2, nan)[0], got = run(network, {}, 2, nan)[0];
  std::int64_t nans = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    nans += std::isnan(expected.at(i));
    EXPECT_EQ(std::isnan(expected.at(i)), std::isnan(got.at(i))) << i;
  }
  EXPECT_GT(nans, 0);
}

}  // namespace
}  // namespace narrowgauge::relu_pool_test
