// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/softsign.h"

#include "support/run_op.h"

namespace narrowgauge::softsign_test {
namespace {

TEST(softsign, is_x_over_one_plus_its_magnitude) {
  const Tensor x = Tensor::from<float>({5}, std::vector<float>{-3, -1, 0, 0.25F, 4});
  const std::vector<double> expected{-0.75, -0.5, 0, 0.2, 0.8};
  const std::vector<double> y =
      testing_support::to_doubles(testing_support::run_op(Softsign{}, {x})[0]);
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], 1e-7) << i;
}

}  // namespace
}  // namespace narrowgauge::softsign_test
