// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/error_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "narrowgauge/matrix_unit_arithmetic.h"
#include "narrowgauge/simulate.h"
#include "tensor/values.h"
#include "units/exact_product.h"

namespace narrowgauge::sim::error_bound_test {
namespace {

bool is_plain(const UnitModel& unit) {
  return unit.operand < UnitFormat::s8 && block_size(unit.operand) == 0;
}

std::uint64_t bits_of(UnitFormat format, double value) {
  std::uint64_t bits = 0;
  const double kept = format == UnitFormat::tf32 ? round_to_tf32(static_cast<float>(value)) : value;
  store_element(element_dtype(format), &bits, 0, kept);
  return bits;
}

// Numbers of a unit's operand format, with what an exact sum makes of them.
struct Vectors {
  std::vector<Unpacked> a, b;
  double c = 0;
};

struct Outcome {
  double error = 0, magnitude = 0, largest = 0, result = 0, exact = 0;
};

Outcome run(const UnitModel& unit, const Vectors& vectors) {
  std::vector<double> a, b;
  Outcome outcome;
  for (std::size_t k = 0; k < vectors.a.size(); ++k) {
    a.push_back(vectors.a[k].value);
    b.push_back(vectors.b[k].value);
    outcome.largest = std::max({outcome.largest, std::fabs(a[k]), std::fabs(b[k])});
  }
  const std::uint64_t c = bits_of(unit.result, vectors.c);
  const double c_value = unpack(unit.result, c).value;
  const ExactProduct exact = exact_product({1, 1, std::ssize(a)}, a.data(), b.data(), &c_value);
  outcome.result = unpack(unit.result, dot_product_add(unit, vectors.a, vectors.b, c)).value;
  outcome.error = (outcome.result - exact.high[0]) - exact.low[0];
  outcome.magnitude = exact.magnitude[0];
  outcome.exact = exact.high[0];
  return outcome;
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(seed, "dice") {}
  double uniform() { return stream_.uniform(next_++); }
  double normal() { return stream_.normal(next_++); }
  int below(int count) { return static_cast<int>(uniform() * count); }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

// One of several kinds of trouble: wide exponents, cancellation, subnormals, a large term first.
Vectors trouble(const UnitModel& unit, Dice& dice, std::int64_t depth) {
  const FloatFormat format = float_format(unit.operand);
  const int kind = dice.below(5), spread = 1 + dice.below(kind == 0 ? 12 : 5);
  const auto power = [&] { return std::ldexp(1.0, dice.below(2 * spread + 1) - spread); };
  Vectors vectors;
  for (std::int64_t k = 0; k < depth; ++k) {
    double a = (dice.uniform() < 0.5 ? -1 : 1) * (1 + dice.uniform()) * power();
    double b = (1 + dice.uniform()) * power();
    if (kind == 1 && k % 2) {
      a = -vectors.a.back().value * (1 + 0.001 * dice.uniform());
      b = vectors.b.back().value;
    }
    if (kind == 2) a *= std::ldexp(1.0, format.smallest_exponent() - dice.below(6));
    if (kind == 3) a = k == 0 ? 64 : a / 1024, b = k == 0 ? 64 : b / 1024;
    if (kind == 4) a = std::fabs(a);
    vectors.a.push_back(unpack(unit.operand, bits_of(unit.operand, a)));
    vectors.b.push_back(unpack(unit.operand, bits_of(unit.operand, b)));
  }
  if (dice.below(2)) vectors.c = dice.normal() * power();
  return vectors;
}

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

// The nearest f32, ties to even, of an integer.
float nearest_float(Wide value) {
  const bool negative = value < 0;
  auto size = static_cast<UnsignedWide>(negative ? -value : value);
  int shift = 0;
  bool rest = false;
  for (; size >> 25; ++shift) {
    rest |= size & 1;
    size >>= 1;
  }
  auto kept = static_cast<std::uint32_t>(size);
  if (kept >> 24) {
    const bool half = kept & 1;
    kept >>= 1;
    ++shift;
    kept += half && (rest || kept & 1);
  }
  const float result = std::ldexp(static_cast<float>(kept), shift);
  return negative ? -result : result;
}

TEST(exact_product, is_that_of_integers_and_rounds_once) {
  const RandomStream random(7, "integers");
  std::uint64_t next = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> a, b;
    Wide sum = 0;
    for (int k = 0; k < 1 + i % 30; ++k) {
      const auto integer = [&] {
        const auto bits = static_cast<std::int64_t>(random.bits(next++));
        const int shift = static_cast<int>(random.bits(next++) % 20);
        return (bits & 1 ? -bits : bits) >> shift << (i % 3 ? 0 : shift);
      };
      // Halves that cancel, but for a little.
      const bool again = k % 2 && i % 2;
      a.push_back(again ? -a.back() : static_cast<double>(integer()));
      b.push_back(again ? b.back() + 1 : static_cast<double>(integer()));
      sum += static_cast<Wide>(a.back()) * static_cast<Wide>(b.back());
    }
    const ExactProduct exact = exact_product({1, 1, std::ssize(a)}, a.data(), b.data());
    ASSERT_TRUE(static_cast<Wide>(exact.high[0]) + static_cast<Wide>(exact.low[0]) == sum);
    ASSERT_EQ(static_cast<float>(rounded_to_odd(exact.high[0], exact.low[0])), nearest_float(sum));
  }
  // One half of the last place of 1 in f32, and a little that a double cannot hold beside it.
  const double half = 1 + 0x1p-24;
  EXPECT_EQ(static_cast<float>(rounded_to_odd(half, 0x1p-80)), 1 + 0x1p-23F);
  EXPECT_EQ(static_cast<float>(rounded_to_odd(half, -0x1p-80)), 1);
  EXPECT_EQ(static_cast<float>(rounded_to_odd(-half, -0x1p-80)), -1 - 0x1p-23F);
}

TEST(error_bound, holds_for_every_unit_and_format_on_troublesome_data) {
  Dice dice(1);
  for (const UnitModel& unit : unit_models()) {
    if (!is_plain(unit)) continue;
    for (int i = 0; i < 400; ++i) {
      const std::int64_t depth = 1 + dice.below(i % 8 ? 40 : 200);
      const Vectors vectors = trouble(unit, dice, depth);
      const Outcome outcome = run(unit, vectors);
      if (!std::isfinite(outcome.result)) continue;
      const ErrorBound bound = error_bound(unit, {depth, vectors.c != 0});
      ASSERT_LE(std::fabs(outcome.error), bound.of(outcome.magnitude, outcome.largest))
          << name(unit.unit) << ' ' << name(unit.operand) << ' ' << name(unit.result) << " depth "
          << depth;
    }
  }
}

// A large product and then many that lie just below what the unit keeps beside it.
double worst_share(const UnitModel& unit, std::int64_t depth) {
  double worst = 0;
  const FloatFormat format = float_format(unit.operand);
  const double largest = unit.result == UnitFormat::f16 || format.exponent_bits == 4 ? 64 : 0x1p12;
  const double ones = 2 - std::ldexp(1.0, -format.mantissa_bits);
  for (int bits = 8; bits < 30; ++bits)
    for (const double a : {1.0, ones}) {
      Vectors vectors;
      for (std::int64_t k = 0; k < depth; ++k) {
        const double exponent = 2 * std::log2(largest) - bits;
        const int half = static_cast<int>(std::floor(exponent / 2));
        const bool first = k == 0;
        const double left = first ? largest : std::ldexp(a, half);
        const double right = first ? largest : std::ldexp(a, static_cast<int>(exponent) - half);
        vectors.a.push_back(unpack(unit.operand, bits_of(unit.operand, left)));
        vectors.b.push_back(unpack(unit.operand, bits_of(unit.operand, right)));
      }
      const Outcome outcome = run(unit, vectors);
      if (!std::isfinite(outcome.result)) continue;
      const ErrorBound bound = error_bound(unit, {depth});
      worst =
          std::max(worst, std::fabs(outcome.error) / bound.of(outcome.magnitude, outcome.largest));
    }
  return worst;
}

TEST(error_bound, is_within_a_factor_of_three_of_the_worst_found) {
  for (const UnitModel& unit : unit_models()) {
    if (!is_plain(unit) || unit.result == UnitFormat::f64) continue;
    const std::int64_t depth = 256;
    const double share = worst_share(unit, depth);
    RecordProperty(concat(name(unit.unit), '_', name(unit.operand), '_', name(unit.result)),
                   std::to_string(share));
    EXPECT_LE(share, 1) << name(unit.unit) << ' ' << name(unit.operand);
    // A tree loses at every level only by a choice for each.
    EXPECT_GE(share, unit.summation == Summation::pairwise ? 0.2 : 0.35)
        << name(unit.unit) << ' ' << name(unit.operand) << ' ' << name(unit.result);
  }
}

TEST(error_bound, rounding_of_operands_is_part_of_it) {
  Dice dice(2);
  for (const UnitFormat format : {UnitFormat::tf32, UnitFormat::bf16, UnitFormat::f16}) {
    const UnitModel& unit = *find_unit_model(MatrixUnit::a100, format, UnitFormat::f32);
    double worst = 0;
    for (int i = 0; i < 300; ++i) {
      const std::int64_t depth = 1 + dice.below(64);
      Vectors vectors;
      double exact = 0, magnitude = 0, largest = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        const double a = dice.normal(), b = i % 2 ? a : dice.normal();
        exact += a * b;
        magnitude += std::fabs(a * b);
        largest = std::max({largest, std::fabs(a), std::fabs(b)});
        vectors.a.push_back(unpack(format, bits_of(format, a)));
        vectors.b.push_back(unpack(format, bits_of(format, b)));
      }
      const ErrorBound bound =
          error_bound(unit, {.depth = depth, .operands = OperandRounding::nearest});
      const double error = std::fabs(run(unit, vectors).result - exact);
      ASSERT_LE(error, bound.of(magnitude, largest)) << name(format);
      worst = std::max(worst, error / bound.of(magnitude, largest));
    }
    EXPECT_GT(worst, 0.1) << name(format);
  }
}

TEST(error_bound, holds_for_blocks_with_scales) {
  Dice dice(3);
  for (const UnitFormat format :
       {UnitFormat::mxf8e4m3, UnitFormat::mxf8e5m2, UnitFormat::mxf4, UnitFormat::nvf4}) {
    const UnitModel& unit = *find_unit_model(MatrixUnit::b200, format, UnitFormat::f32);
    double worst = 0;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t depth = 1 + dice.below(i % 4 ? 100 : 700);
      Tensor a(DType::f32, {1, depth}), b(DType::f32, {depth, 1});
      for (Tensor* const tensor : {&a, &b})
        for (float& value : tensor->values<float>())
          value = static_cast<float>(dice.normal() * std::exp2(i % 3 * dice.below(12)));
      const Tensor left = round_operand(a, format).values;
      const Tensor right = round_operand(b, format, Tf32Rounding::nearest, true).values;
      const ExactProduct exact =
          exact_product({1, 1, depth}, left.values<double>().data(), right.values<double>().data());
      const double error = simulate_product(unit, a, b).at(0) - exact.high[0];
      const double share = std::fabs(error) / error_bound(unit, {depth}).of(exact.magnitude[0], 0);
      ASSERT_LE(share, 1) << name(format) << " depth " << depth;
      worst = std::max(worst, share);
    }
    // Sums of f4e2m1 have so few bits that they are exact but for wide scales.
    EXPECT_GT(worst, format == UnitFormat::mxf4 ? 0 : 0.01) << name(format);
  }
}

TEST(error_bound, of_integers_and_of_nothing_is_zero) {
  const UnitModel& bytes = *find_unit_model(MatrixUnit::a100, UnitFormat::s8, UnitFormat::s32);
  EXPECT_EQ(error_bound(bytes, {1000}).of(1e6, 127), 0);
  const UnitModel& half = *find_unit_model(MatrixUnit::a100, UnitFormat::f16, UnitFormat::f32);
  EXPECT_EQ(error_bound(half, {0}).of(1, 1), 0);
}

struct Measured {
  double deviation = 0, bias = 0, bias_noise = 0;
};

// Root of the mean square and mean towards or away from zero, relative to the sum of magnitudes.
Measured measure(const UnitModel& unit, std::int64_t depth, RandomOperands operands) {
  const int tries = 100;
  Dice dice(static_cast<std::uint64_t>(depth));
  Measured measured;
  double bias_square = 0;
  for (int i = 0; i < tries; ++i) {
    Vectors vectors;
    for (std::int64_t k = 0; k < depth; ++k) {
      const auto value = [&] {
        return operands == RandomOperands::normal ? dice.normal() : dice.uniform();
      };
      vectors.a.push_back(unpack(unit.operand, bits_of(unit.operand, value())));
      vectors.b.push_back(unpack(unit.operand, bits_of(unit.operand, value())));
    }
    const Outcome outcome = run(unit, vectors);
    const double error = outcome.error / outcome.magnitude;
    const double away = outcome.exact < 0 ? -error : error;
    measured.deviation += error * error / tries;
    measured.bias += away / tries;
    bias_square += away * away / tries;
  }
  measured.deviation = std::sqrt(measured.deviation);
  measured.bias_noise = std::sqrt(bias_square / tries);
  return measured;
}

TEST(expected_error, is_within_a_factor_of_two_of_the_measured) {
  for (const UnitModel& unit : unit_models()) {
    if (!is_plain(unit) || unit.result == UnitFormat::f64) continue;
    // These units have the arithmetic of others under another name.
    const bool again = unit.unit == MatrixUnit::ada || unit.unit == MatrixUnit::b200;
    if (unit.unit == MatrixUnit::t4 || (again && unit.operand < UnitFormat::f8e4m3)) continue;
    for (const RandomOperands operands : {RandomOperands::normal, RandomOperands::uniform})
      for (const std::int64_t depth : {64, 1024}) {
        const Measured measured = measure(unit, depth, operands);
        const ExpectedError expected = expected_error(unit, depth, operands);
        const std::string who =
            concat(name(unit.unit), ' ', name(unit.operand), ' ', name(unit.result), " depth ",
                   depth, operands == RandomOperands::normal ? " normal" : " uniform");
        RecordProperty(who, concat(expected.deviation, ' ', measured.deviation, ' ', expected.bias,
                                   ' ', measured.bias));
        // Sums that are exact but for single elements tell nothing.
        constexpr double rare = 0x1p-27;
        EXPECT_LT(expected.deviation, 2 * measured.deviation + rare) << who;
        EXPECT_GT(2 * expected.deviation, measured.deviation - rare) << who;
        EXPECT_NEAR(expected.bias, measured.bias,
                    0.5 * std::fabs(measured.bias) + 4 * measured.bias_noise + rare)
            << who;
        const ErrorBound bound = error_bound(unit, {depth});
        EXPECT_LT(measured.deviation, bound.relative + 1e-9) << who;
      }
  }
}

TEST(expected_error, of_units_that_cut_is_a_bias_that_grows_with_the_depth) {
  const UnitModel& unit = *find_unit_model(MatrixUnit::a100, UnitFormat::f16, UnitFormat::f32);
  const ExpectedError shallow = expected_error(unit, 256, RandomOperands::uniform);
  const ExpectedError deep = expected_error(unit, 4096, RandomOperands::uniform);
  EXPECT_LT(deep.bias, 8 * shallow.bias);
  EXPECT_LT(shallow.bias, 0);
  const UnitModel& ieee = *find_unit_model(MatrixUnit::ieee, UnitFormat::f16, UnitFormat::f32);
  EXPECT_EQ(expected_error(ieee, 4096, RandomOperands::uniform).bias, 0);
}

}  // namespace
}  // namespace narrowgauge::sim::error_bound_test
