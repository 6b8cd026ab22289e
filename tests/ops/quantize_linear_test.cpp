// SPDX-License-Identifier: Apache-2.0
#include "ops/quantize_linear.h"

#include <cmath>

#include "ops/matmul_integer.h"
#include "passes/differentiate.h"
#include "support/run_op.h"

namespace narrowgauge {
namespace {

using testing::run_op;
using testing::to_doubles;

Tensor floats(const std::vector<float>& values) {
  return Tensor::from<float>({static_cast<std::int64_t>(values.size())}, values);
}

TEST(QuantizeLinear, RoundsHalvesToEvenSaturatesAndKeepsNanAtZero) {
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

TEST(QuantizeLinear, EveryByteComesBackFromItsNumber) {
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

TEST(DynamicQuantizeLinear, GivesZerosForZeros) {
  const auto made = run_op(DynamicQuantizeLinear{}, {floats({0, 0, 0})});
  EXPECT_EQ(to_doubles(made[0]), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(made[1].at(0), 0);
  EXPECT_EQ(made[2].at(0), 0);
}

TEST(QLinearMatMul, GivesTheLeastForNan) {
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

TEST(DequantizeLinear, RefusesToTrainItsScale) {
  Graph graph;
  const Value x = graph.input("x", {DType::i8, {3}}),
              scale = graph.input("scale", {DType::f32, {}});
  graph.output("y", graph.add(DequantizeLinear{}, {x, scale}));
  try {
    differentiate(graph);
    FAIL() << "was differentiated";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("DequantizeLinear has no gradient"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace narrowgauge
