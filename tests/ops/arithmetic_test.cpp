// SPDX-License-Identifier: Apache-2.0
#include "ops/math/arithmetic.h"

#include <limits>

#include "ops/math/broadcast_gradient.h"
#include "ops/math/cast.h"
#include "ops/math/rounding.h"
#include "support/run_op.h"

namespace narrowgauge {
namespace {

using testing::run_op;
using testing::to_doubles;
using Doubles = std::vector<double>;

Tensor floats(Dims dims, const std::vector<float>& values) {
  return Tensor::from<float>(std::move(dims), values);
}
Tensor integers(Dims dims, const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>(std::move(dims), values);
}

TEST(arithmetic, broadcasts_as_onnx_does) {
  const Tensor column = floats({2, 1}, {1, 2});
  const Tensor row = floats({3}, {10, 20, 30});
  for (const bool reference : {false, true}) {
    EXPECT_EQ(to_doubles(run_op(Add{}, {column, row}, reference)[0]),
              (Doubles{11, 21, 31, 12, 22, 32}));
    EXPECT_EQ(to_doubles(run_op(Sub{}, {column, row}, reference)[0]),
              (Doubles{-9, -19, -29, -8, -18, -28}));
    EXPECT_EQ(to_doubles(run_op(Mul{}, {column, row}, reference)[0]),
              (Doubles{10, 20, 30, 20, 40, 60}));
    EXPECT_EQ(to_doubles(run_op(Div{}, {row, column}, reference)[0]),
              (Doubles{10, 20, 30, 5, 10, 15}));
  }
}

TEST(arithmetic, integers_are_exact_and_have_a_result_for_every_operand) {
  constexpr std::int64_t big = (std::int64_t{1} << 60) + 1;
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  const Tensor sum = run_op(Add{}, {integers({2}, {big, lowest}), integers({2}, {2, -1})})[0];
  EXPECT_EQ(sum.values<std::int64_t>()[0], big + 2);
  EXPECT_EQ(sum.values<std::int64_t>()[1], std::numeric_limits<std::int64_t>::max());
  const Tensor ratio =
      run_op(Div{}, {integers({4}, {-7, 7, 5, lowest}), integers({4}, {2, -2, 0, -1})})[0];
  EXPECT_EQ(ratio.values<std::int64_t>()[0], -3);
  EXPECT_EQ(ratio.values<std::int64_t>()[1], -3);
  EXPECT_EQ(ratio.values<std::int64_t>()[2], 0);
  EXPECT_EQ(ratio.values<std::int64_t>()[3], lowest);
}

TEST(arithmetic, narrow_integers_wrap_around) {
  const auto sum_of = [](DType dtype, double a, double b) {
    const Tensor x = Tensor::scalar(dtype, a), y = Tensor::scalar(dtype, b);
    return run_op(Add{}, {x, y})[0].at(0);
  };
  EXPECT_EQ(sum_of(DType::i32, 2147483647, 2147483647), -2);
  EXPECT_EQ(sum_of(DType::i16, -32768, -1), 32767);
  EXPECT_EQ(sum_of(DType::i8, 100, 100), -56);
  EXPECT_EQ(sum_of(DType::u8, 200, 200), 144);
  EXPECT_EQ(sum_of(DType::i4, 7, 1), -8);
  EXPECT_EQ(sum_of(DType::u4, 15, 2), 1);
  const Tensor lowest = Tensor::scalar(DType::i8, -128);
  EXPECT_EQ(run_op(Neg{}, {lowest})[0].at(0), -128);
  EXPECT_EQ(run_op(Sub{}, {Tensor::scalar(DType::u8, 1), Tensor::scalar(DType::u8, 2)})[0].at(0),
            255);
}

TEST(arithmetic, a_cast_of_integers_saturates) {
  EXPECT_EQ(run_op(Cast{.to = DType::i32}, {integers({1}, {1LL << 40})})[0].at(0), 2147483647);
  EXPECT_EQ(run_op(Cast{.to = DType::u8}, {integers({1}, {-3})})[0].at(0), 0);
  EXPECT_EQ(run_op(Cast{.to = DType::boolean}, {integers({1}, {256})})[0].at(0), 1);
}

TEST(arithmetic, rounds_halves_to_even_and_keeps_nan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = floats({7}, {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 2.4F, 1e9F});
  for (const bool reference : {false, true}) {
    EXPECT_EQ(to_doubles(run_op(Round{}, {x}, reference)[0]), (Doubles{0, 2, 2, 0, -2, 2, 1e9}));
    EXPECT_EQ(to_doubles(run_op(Sign{}, {floats({3}, {-3, 0, 5})}, reference)[0]),
              (Doubles{-1, 0, 1}));
    EXPECT_TRUE(std::isnan(run_op(Sign{}, {floats({1}, {nan})}, reference)[0].at(0)));
  }
}

TEST(arithmetic, refuses_shapes_that_do_not_broadcast) {
  EXPECT_THROW(run_op(Add{}, {floats({2}, {1, 2}), floats({3}, {1, 2, 3})}), UsageError);
  EXPECT_THROW(run_op(Add{}, {floats({2}, {1, 2}), integers({2}, {1, 2})}), UsageError);
}

TEST(broadcast_gradient, sums_over_the_axes_that_were_repeated) {
  const Tensor dy = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(to_doubles(run_op(BroadcastGradient{{3}}, {dy})[0]), (Doubles{5, 7, 9}));
  EXPECT_EQ(to_doubles(run_op(BroadcastGradient{{2, 1}}, {dy})[0]), (Doubles{6, 15}));
  EXPECT_EQ(to_doubles(run_op(BroadcastGradient{{}}, {dy})[0]), (Doubles{21}));
  EXPECT_THROW(run_op(BroadcastGradient{{2}}, {dy}), UsageError);
}

}  // namespace
}  // namespace narrowgauge
