// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantize_linear.h"

#include <cmath>
#include <memory>

#include "base/machine/floating_environment.h"
#include "base/random.h"
#include "narrowgauge/block_format.h"
#include "ops/quantized/matmul_integer.h"
#include "passes/training/differentiate.h"
#include "support/run_op.h"

namespace narrowgauge::quantize_linear_test {
namespace {

using testing_support::run_op;
using testing_support::to_doubles;

Tensor floats(const std::vector<float>& values) {
  return Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values);
}

TEST(quantize_linear, rounds_halves_to_even_saturates_and_keeps_nan_at_zero) {
  const float inf = HUGE_VALF;
  const Tensor x = floats({-3, -1, -0.5F, 0, 1, 3, 5, 1e9F, -1e9F, inf, -inf, NAN});
  for (const bool reference : {false, true}) {
    const auto bytes =
        run_op(QuantizeLinear{}, {x, Tensor::scalar(DType::f32, 2), Tensor::scalar(DType::u8, 10)},
               reference);
    EXPECT_EQ(to_doubles(bytes[0]),
              (std::vector<double>{8, 10, 10, 10, 10, 12, 12, 255, 0, 255, 0, 10}));
    const auto signed_bytes =
        run_op(QuantizeLinear{},
               {x, Tensor::scalar(DType::f32, 2), Tensor::scalar(DType::i8, -100)}, reference);
    EXPECT_EQ(to_doubles(signed_bytes[0]), (std::vector<double>{-102, -100, -100, -100, -100, -98,
                                                                -98, 127, -128, 127, -128, -100}));
  }
}

TEST(quantize_linear, takes_every_narrow_integer_and_saturates) {
  struct Case {
    DType dtype;
    double zero;
    std::vector<double> expected;
  };
  const Tensor x = floats({-1e9F, -3, 0, 1, 3, 1e9F, NAN});
  for (const auto& [dtype, zero, expected] :
       {Case{DType::u16, 40000, {0, 39998, 40000, 40000, 40002, 65535, 40000}},
        Case{DType::i16, -9, {-32768, -11, -9, -9, -7, 32767, -9}},
        Case{DType::u2, 1, {0, 0, 1, 1, 3, 3, 1}}, Case{DType::i2, 0, {-2, -2, 0, 0, 1, 1, 0}}})
    for (const bool reference : {false, true}) {
      const std::vector<Tensor> by{Tensor::scalar(DType::f32, 2), Tensor::scalar(dtype, zero)};
      const Tensor y = run_op(QuantizeLinear{}, {x, by[0], by[1]}, reference)[0];
      EXPECT_EQ(to_doubles(y), expected) << name(dtype);
      const Tensor back = run_op(DequantizeLinear{}, {y, by[0], by[1]}, reference)[0];
      EXPECT_EQ(back.at(3), 2 * (expected[3] - zero)) << name(dtype);
    }
}

TEST(quantize_linear, every_byte_comes_back_from_its_number) {
  for (const DType dtype : {DType::u8, DType::i8}) {
    Tensor bytes(dtype, {2, 128});
    for (std::int64_t i = 0; i < 256; ++i)
      bytes.set(i, double(i) + (dtype == DType::u8 ? 0 : -128));
    const Tensor scales = floats({0.1F, 3}), zeros = Tensor::full(dtype, {2}, 77);
    const auto numbers = run_op(DequantizeLinear{.axis = 0}, {bytes, scales, zeros});
    const auto back = run_op(QuantizeLinear{.axis = 0}, {numbers[0], scales, zeros});
    EXPECT_TRUE(back[0].same_bits(bytes));
  }
}

// Block formats are this op with their scales; those of zeros are 2^-127, which flushing must not
// take for 0.
TEST(quantize_linear, stores_block_formats_with_their_scales) {
  Tensor x(DType::f32, {4, 70});
  const RandomStream stream(1, "blocks");
  for (std::int64_t i = 70; i < 280; ++i)
    x.set(i, (stream.bits(static_cast<std::uint64_t>(i)) * 0x1p-31 - 1) *
                 std::ldexp(1.0, int(i) / 32));
  for (const BlockFormat& format : {mxfp8_e4m3, mxfp8_e5m2, mxfp4}) {
    const BlockTensor stored = quantize(format, x);
    const Tensor values = dequantize(stored);
    for (const bool flushed : {false, true})
      for (const bool reference : {false, true}) {
        const auto flush =
            flushed ? std::make_unique<FloatingEnvironment>(Subnormals::flush) : nullptr;
        const QuantizeLinear there{.axis = -1, .block_size = 32, .output_dtype = format.element};
        const DequantizeLinear back{-1, 32, DType::f32};
        EXPECT_TRUE(run_op(there, {x, stored.scales}, reference)[0].same_bits(stored.elements));
        EXPECT_TRUE(run_op(back, {stored.elements, stored.scales}, reference)[0].same_bits(values));
      }
  }
}

// Scales of f8e4m3fn are numbers of their own, with one f32 for all.
TEST(quantize_linear, composes_nvfp4_of_two_levels) {
  Tensor x(DType::f32, {3, 48});
  const RandomStream stream(2, "blocks");
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.set(i, stream.bits(static_cast<std::uint64_t>(i)) * 0x1p-31 - 1);
  const BlockTensor stored = quantize(nvfp4, x);
  const auto scales = run_op(DequantizeLinear{}, {stored.scales, Tensor::scalar(DType::f32, 1)});
  const Tensor once = run_op(DequantizeLinear{-1, 16}, {stored.elements, scales[0]})[0];
  const Tensor values = dequantize(stored);
  for (std::int64_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(static_cast<float>(once.at(i)) * stored.tensor_scale, values.at(i));
}

TEST(dequantize_linear, wants_to_know_the_result_of_scales_of_eight_bits) {
  const Tensor x(DType::f4e2m1, {32}), scale = Tensor::full(DType::f8e8m0, {1}, 2);
  EXPECT_THROW(run_op(DequantizeLinear{}, {x, scale}), UsageError);
  const auto y = run_op(DequantizeLinear{.output_dtype = DType::bf16}, {x, scale});
  EXPECT_EQ(y[0].dtype(), DType::bf16);
  EXPECT_THROW(run_op(QuantizeLinear{}, {x, scale}), UsageError);
}

TEST(dynamic_quantize_linear, gives_zeros_for_zeros) {
  const auto made = run_op(DynamicQuantizeLinear{}, {floats({0, 0, 0})});
  EXPECT_EQ(to_doubles(made[0]), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(made[1].at(0), 0);
  EXPECT_EQ(made[2].at(0), 0);
}

TEST(qlinear_matmul, gives_the_least_for_nan) {
  const Tensor a = Tensor::full(DType::u8, {1, 2}, 3), b = Tensor::full(DType::i8, {2, 1}, 4);
  const Tensor zero = Tensor::scalar(DType::i8, 9);
  for (const bool reference : {false, true}) {
    const auto y = run_op(QLinearMatMul{},
                          {a, Tensor::scalar(DType::f32, NAN), Tensor::scalar(DType::u8, 0), b,
                           Tensor::scalar(DType::f32, 1), Tensor::scalar(DType::i8, 0),
                           Tensor::scalar(DType::f32, 1), zero},
                          reference);
    EXPECT_EQ(y[0].at(0), -128) << reference;
  }
}

}  // namespace
}  // namespace narrowgauge::quantize_linear_test
