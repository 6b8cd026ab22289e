// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/fake_quantize.h"

#include "ops/gradient_run.h"
#include "ops/quantized/quantize_linear.h"
#include "support/run_op.h"

namespace narrowgauge::fake_quantize_test {
namespace {

using testing_support::run_op;
using testing_support::to_doubles;

Tensor floats(Dims dims, const std::vector<float>& values) {
  return Tensor::from<float>(std::move(dims), values);
}

TEST(fake_quantize, is_dequantize_of_quantize) {
  const Tensor x = floats({2, 3}, {-3, -0.3F, 0.24F, 0.26F, 1.2F, 700});
  const Tensor scale = floats({3}, {0.5F, 0.25F, 2});
  const Tensor zero = Tensor::from<std::int8_t>({3}, std::vector<std::int8_t>{0, 1, -3});
  const Tensor bytes = run_op(QuantizeLinear{}, {x, scale, zero})[0];
  const Tensor numbers = run_op(DequantizeLinear{}, {bytes, scale, zero})[0];
  EXPECT_EQ(to_doubles(run_op(FakeQuantize{}, {x, scale, zero})[0]), to_doubles(numbers));
}

// The gradient of x for gradients 1, 2, 3, ... of y.
std::vector<double> gradient_of(const Tensor& x, const Tensor& scale, const Tensor& zero,
                                std::int64_t axis) {
  const auto counted = [](const Dims& dims) {
    Tensor dy(DType::f32, dims);
    for (std::int64_t i = 0; i < dy.size(); ++i) dy.set(i, static_cast<double>(i + 1));
    return dy;
  };
  return to_doubles(run_gradient(FakeQuantize{axis}, {x, scale, zero}, counted).at(1));
}

TEST(fake_quantize, gradients_pass_straight_through_up_to_the_ends_of_the_grid) {
  // u8 with zero point 2 and scale 0.5: from -1 to 126.5.
  EXPECT_EQ(gradient_of(floats({6}, {-9, -1, -0.4F, 3.3F, 126.4F, 200}),
                        Tensor::scalar(DType::f32, 0.5), Tensor::scalar(DType::u8, 2), 0),
            (std::vector<double>{0, 2, 3, 4, 5, 0}));
}

TEST(fake_quantize, each_channel_has_ends_of_its_own) {
  // i8: to 12.7 and to 127.
  const Tensor zero = Tensor::from<std::int8_t>({2}, std::vector<std::int8_t>{0, 0});
  EXPECT_EQ(gradient_of(floats({2, 2}, {12, 20, 12, 20}), floats({2}, {0.1F, 1}), zero, 0),
            (std::vector<double>{1, 0, 3, 4}));
}

}  // namespace
}  // namespace narrowgauge::fake_quantize_test
