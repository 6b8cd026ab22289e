// SPDX-License-Identifier: Apache-2.0
#include "ops/pointwise/arithmetic.h"

#include <cmath>
#include <limits>

#include "ops/pointwise/bitwise.h"
#include "ops/pointwise/cast.h"
#include "ops/pointwise/cast_like.h"
#include "ops/pointwise/comparison.h"
#include "ops/pointwise/exponential.h"
#include "ops/pointwise/min_max.h"
#include "ops/pointwise/modulo.h"
#include "ops/pointwise/rounding.h"
#include "ops/shape/broadcast_gradient.h"
#include "support/run_op.h"

namespace narrowgauge::arithmetic_test {
namespace {

using testing_support::run_op;
using testing_support::to_doubles;
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

Tensor unsigned_integers(const std::vector<std::uint64_t>& values) {
  return Tensor::from<std::uint64_t>({std::ssize(values)}, values);
}
constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

// What two's complement with a sign would get wrong, and what f64 would.
TEST(arithmetic, numbers_beyond_i64_are_exact) {
  const Tensor large = unsigned_integers({most, most - 1, 5}), small = unsigned_integers({2, 0, 6});
  const auto result = [&](const auto& op) {
    const Tensor y = run_op(op, {large, small})[0];
    const auto values = y.values<std::uint64_t>();
    return std::vector<std::uint64_t>(values.begin(), values.end());
  };
  using Numbers = std::vector<std::uint64_t>;
  EXPECT_EQ(result(Add{}), (Numbers{1, most - 1, 11}));
  EXPECT_EQ(result(Sub{}), (Numbers{most - 2, most - 1, most}));
  EXPECT_EQ(result(Mul{}), (Numbers{most - 1, 0, 30}));
  EXPECT_EQ(result(Div{}), (Numbers{most / 2, 0, 0}));
  EXPECT_EQ(result(Mod{}), (Numbers{1, most - 1, 5}));
  EXPECT_EQ(result(Max{}), (Numbers{most, most - 1, 6}));
  EXPECT_EQ(result(Min{}), (Numbers{2, 0, 5}));
  EXPECT_EQ(result(BitwiseAnd{}), (Numbers{2, 0, 4}));
  EXPECT_EQ(result(Pow{}), (Numbers{1, 1, 15625}));
  EXPECT_EQ(to_doubles(run_op(Greater{}, {large, small})[0]), (Doubles{1, 1, 0}));
  EXPECT_EQ(run_op(BitwiseNot{}, {small})[0].values<std::uint64_t>()[1], most);
  EXPECT_EQ(run_op(Clip{}, {large})[0].values<std::uint64_t>()[0], most);
}

TEST(arithmetic, shifts_take_every_bit_of_a_dtype) {
  const Tensor x = unsigned_integers({most, 3, 1}), by = unsigned_integers({63, 1, 64});
  const Tensor right = run_op(BitShift{"RIGHT"}, {x, by})[0];
  const Tensor left = run_op(BitShift{"LEFT"}, {x, by})[0];
  EXPECT_EQ(to_doubles(right), (Doubles{1, 1, 0}));
  EXPECT_EQ(to_doubles(left), (Doubles{0x1p63, 6, 0}));
  const Tensor word = Tensor::scalar(DType::u16, 0x8001), one = Tensor::scalar(DType::u16, 1);
  EXPECT_EQ(run_op(BitShift{"LEFT"}, {word, one})[0].at(0), 2);
  EXPECT_THROW(run_op(BitShift{"LEFT"}, {integers({1}, {1}), integers({1}, {1})}), UsageError);
}

TEST(arithmetic, a_cast_to_four_or_two_bits_keeps_the_low_bits) {
  const std::vector<float> values{-9, -3.9F, -1, 0.9F, 2, 3, 9, NAN, HUGE_VALF};
  const Tensor x = floats({9}, values);
  const auto cast = [&](DType to) { return to_doubles(run_op(Cast{.to = to}, {x})[0]); };
  EXPECT_EQ(cast(DType::i2), (Doubles{-1, 1, -1, 0, -2, -1, 1, 0, 0}));
  EXPECT_EQ(cast(DType::u2), (Doubles{3, 1, 3, 0, 2, 3, 1, 0, 0}));
  EXPECT_EQ(cast(DType::i4), (Doubles{7, -3, -1, 0, 2, 3, -7, 0, 0}));
  EXPECT_EQ(cast(DType::u4), (Doubles{7, 13, 15, 0, 2, 3, 9, 0, 0}));
  const Tensor whole = integers({3}, {-9, 3, 17});
  EXPECT_EQ(to_doubles(run_op(Cast{.to = DType::i4}, {whole})[0]), (Doubles{7, 3, 1}));
  EXPECT_EQ(to_doubles(run_op(Cast{.to = DType::u2}, {whole})[0]), (Doubles{3, 3, 1}));
}

// The table of ONNX's Cast.
TEST(arithmetic, a_cast_to_floats_with_one_zero_saturates_where_asked) {
  const Tensor x = floats({6}, {-0.0F, NAN, HUGE_VALF, -HUGE_VALF, 1e6F, -1e6F});
  for (const DType to : {DType::f8e4m3fnuz, DType::f8e5m2fnuz})
    for (const bool reference : {false, true}) {
      const double limit = largest_finite(to);
      const Tensor saturated = run_op(Cast{.to = to}, {x}, reference)[0];
      EXPECT_FALSE(std::signbit(saturated.at(0)));
      EXPECT_TRUE(std::isnan(saturated.at(1)));
      for (const int i : {2, 4}) {
        EXPECT_EQ(saturated.at(i), limit);
        EXPECT_EQ(saturated.at(i + 1), -limit);
      }
      const Tensor open = run_op(Cast{.to = to, .saturate = 0}, {x}, reference)[0];
      EXPECT_EQ(open.at(0), 0);
      for (int i = 1; i < 6; ++i) EXPECT_TRUE(std::isnan(open.at(i))) << i;
    }
}

TEST(arithmetic, a_cast_between_the_widest_integers_is_exact) {
  constexpr std::int64_t odd = (std::int64_t{1} << 53) + 1;
  for (const bool reference : {false, true}) {
    const auto cast = [&](DType to, const Tensor& x) {
      return run_op(Cast{.to = to}, {x}, reference)[0];
    };
    const Tensor up = cast(DType::u64, integers({2}, {odd, -1}));
    EXPECT_EQ(up.values<std::uint64_t>()[0], static_cast<std::uint64_t>(odd));
    EXPECT_EQ(up.values<std::uint64_t>()[1], most);
    const Tensor down = cast(DType::i64, unsigned_integers({most}));
    EXPECT_EQ(down.values<std::int64_t>()[0], -1);
    EXPECT_EQ(cast(DType::f32, unsigned_integers({most})).at(0), 0x1p64);
  }
}

TEST(arithmetic, products_of_the_widest_integers_wrap_around) {
  for (const bool reference : {false, true}) {
    const Tensor x = unsigned_integers({most, 3});
    const Tensor square = run_op(Mul{}, {x, x}, reference)[0];
    EXPECT_EQ(square.values<std::uint64_t>()[0], 1U);  // (2^64 - 1)^2 modulo 2^64
    EXPECT_EQ(square.values<std::uint64_t>()[1], 9U);
  }
}

// ONNX's Cast: higher bits are discarded, the rest is taken as two's complement.
TEST(arithmetic, a_cast_of_integers_keeps_the_low_bits) {
  const std::vector<std::int64_t> values{300, -1, -129, 200, 40000, -3, (1LL << 40) + 7};
  const Tensor wide = integers({7}, values);
  for (const bool reference : {false, true}) {
    const auto cast = [&](DType to, const Tensor& x) {
      return run_op(Cast{.to = to}, {x}, reference)[0];
    };
    const auto of_wide = [&](DType to) { return to_doubles(cast(to, wide)); };
    EXPECT_EQ(of_wide(DType::u8), (Doubles{44, 255, 127, 200, 64, 253, 7}));
    EXPECT_EQ(of_wide(DType::i8), (Doubles{44, -1, 127, -56, 64, -3, 7}));
    EXPECT_EQ(of_wide(DType::u16), (Doubles{300, 65535, 65407, 200, 40000, 65533, 7}));
    EXPECT_EQ(of_wide(DType::i16), (Doubles{300, -1, -129, 200, -25536, -3, 7}));
    EXPECT_EQ(of_wide(DType::i32), (Doubles{300, -1, -129, 200, 40000, -3, 7}));
    EXPECT_EQ(of_wide(DType::u32)[1], 4294967295.0);
    EXPECT_EQ(of_wide(DType::boolean), (Doubles{1, 1, 1, 1, 1, 1, 1}));
    const Tensor bytes = cast(DType::i8, wide);
    EXPECT_EQ(to_doubles(cast(DType::u8, bytes)), of_wide(DType::u8));
    EXPECT_EQ(to_doubles(cast(DType::i64, bytes)), of_wide(DType::i8));
    EXPECT_EQ(cast(DType::u64, bytes).values<std::uint64_t>()[1], most);
    EXPECT_EQ(to_doubles(cast(DType::u8, cast(DType::boolean, wide))), Doubles(7, 1));
    EXPECT_EQ(to_doubles(run_op(CastLike{}, {wide, bytes}, reference)[0]), of_wide(DType::i8));
  }
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
}  // namespace narrowgauge::arithmetic_test
