// SPDX-License-Identifier: Apache-2.0
// Ranges that calibrators choose from histograms, against those that tests/calibrators_oracle.py
// computed from the values themselves and stored in calibrators_cases.txt; and what holds for any
// values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>

#include "narrowgauge/error.h"
#include "quantize/range.h"
#include "quantize/values.h"

namespace narrowgauge::calibrators_test {
namespace {

using namespace testing_values;

constexpr RangeOptions affine_range;
const std::vector<std::string> calibrators_tried = {"absmax", "percentile", "percentile(99)",
                                                    "entropy", "mse"};

// The values of the oracle, by the same sums and products, all of which are exact.
std::map<std::string, Floats> oracle_values() {
  constexpr std::size_t count = std::size_t{1} << 16;
  std::uint64_t state = 1;
  std::map<std::string, Floats> values;
  for (std::size_t i = 0; i < count; ++i) {
    double first = 0, sum = -6;
    for (int k = 0; k < 12; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double u = static_cast<double>(state >> 40) / (1 << 24);
      if (k == 0) first = u;
      sum += u;
    }
    const auto normal = static_cast<float>(sum);
    values["normal"].push_back(normal);
    values["heavy_tail"].push_back(normal * normal * normal);
    values["positive_tail"].push_back(std::abs(normal * normal * normal));
    values["relu"].push_back(std::max(normal, 0.0f));
    values["uniform"].push_back(static_cast<float>(2 * first - 0.5));
    values["outlier"].push_back(i == count / 2 ? 1000 : normal);
  }
  return values;
}

struct Case {
  std::string data, calibrator;
  RangeOptions options;
  Range range;
  double least = NAN;  // of what the calibrator makes least
};

std::vector<Case> stored_cases() {
  const char* const root = std::getenv("NARROWGAUGE_SOURCE");
  std::ifstream in(std::string(root ? root : ".") + "/tests/quantize/calibrators_cases.txt");
  std::vector<Case> cases;
  for (std::string text; std::getline(in, text);) {
    if (text.starts_with('#')) continue;
    std::istringstream line(text);
    Case each;
    bool symmetric = false;
    line >> each.data >> symmetric >> each.calibrator >> each.range.low >> each.range.high;
    EXPECT_TRUE(line) << text;
    if (symmetric) each.options = symmetric_range;
    if (double least = 0; line >> least) each.least = least;
    cases.push_back(each);
  }
  return cases;
}

// The mean squared error of values in a format that covers a range.
double squared_error(const Floats& values, const Range& range, const RangeOptions& options) {
  double step = double{range.high} / 127, first = -127, last = 127, sum = 0;
  if (!options.symmetric) {
    step = (double{range.high} - range.low) / 255;
    first = std::nearbyint(range.low / step), last = first + 255;
  }
  for (const float value : values)
    sum += std::pow(std::clamp(std::nearbyint(value / step), first, last) * step - value, 2);
  return sum / static_cast<double>(values.size());
}

// The divergence as the oracle computes it: from 2048 bins of the sizes of values other than 0.
double divergence(const Floats& values, double limit, int levels) {
  constexpr std::size_t all = 2048;
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(double{value}));
  std::vector<double> counts(all);
  for (const float value : values)
    if (value != 0)
      ++counts[std::min(static_cast<std::size_t>(std::abs(value) / most * all), all - 1)];
  const auto bins =
      static_cast<std::size_t>(std::lround(std::min(limit / most * all, 2048.5) - 0.5));
  std::vector<double> p(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(bins)),
      q(bins);
  const auto level_of = [&](std::size_t bin) {
    return bin * static_cast<std::size_t>(levels) / bins;
  };
  for (std::size_t begin = 0, end = 0; begin < bins; begin = end) {
    double sum = 0, filled = 0;
    for (; end < bins && level_of(end) == level_of(begin); ++end)
      sum += p[end], filled += p[end] > 0;
    for (std::size_t i = begin; i < end; ++i) q[i] = p[i] > 0 ? sum / filled : 0;
  }
  for (std::size_t i = bins; i < all; ++i) p[bins - 1] += counts[i];
  double p_sum = 0, q_sum = 0, found = 0;
  for (std::size_t i = 0; i < bins; ++i) p_sum += p[i], q_sum += q[i];
  for (std::size_t i = 0; i < bins; ++i)
    if (p[i] > 0) found += p[i] / p_sum * std::log(p[i] / p_sum / (q[i] / q_sum));
  return found;
}

float limit_of(const Range& range) { return std::max(-range.low, range.high); }

// The least divergence of the clips that a bin of the histogram holds, near the chosen one.
double divergence_near(const Floats& values, const Case& expected, float limit) {
  const bool one_sign = *std::ranges::min_element(values) >= 0;
  const int levels = one_sign && !expected.options.symmetric ? 256 : 128;
  double least = INFINITY;
  for (int step = -8; step <= 8; ++step)
    least = std::min(least, divergence(values, limit * (1 + step / 1024.0), levels));
  return least;
}

void compare(const Case& expected, const Floats& values) {
  SCOPED_TRACE(concat(expected.data, expected.options.symmetric ? ", symmetric, " : ", affine, ",
                      expected.calibrator));
  const Range range = choose_range(expected.calibrator, histogram_of(values), expected.options);
  if (expected.calibrator == "absmax") {
    EXPECT_EQ(range, expected.range);
  } else if (expected.calibrator == "mse") {
    EXPECT_LT(squared_error(values, range, expected.options), 1.01 * expected.least);
  } else if (expected.calibrator == "entropy") {
    EXPECT_LT(divergence_near(values, expected, limit_of(range)), 1.02 * expected.least);
    EXPECT_NEAR(limit_of(range), limit_of(expected.range), 0.1 * limit_of(expected.range));
  } else {
    constexpr float bin = 1.0f / 128;
    EXPECT_NEAR(range.low, expected.range.low, -bin * expected.range.low);
    EXPECT_NEAR(range.high, expected.range.high, bin * expected.range.high);
  }
}

TEST(calibrators, choose_what_the_oracle_does) {
  const auto values = oracle_values();
  const std::vector<Case> cases = stored_cases();
  EXPECT_EQ(cases.size(), 60u);
  for (const Case& each : cases) compare(each, values.at(each.data));
}

Range range_of(std::string_view calibrator, const Floats& values, const RangeOptions& options) {
  return choose_range(calibrator, histogram_of(values), options);
}

// Calls check(calibrator, options) for all.
void for_each_way(const std::function<void(const std::string&, const RangeOptions&)>& check) {
  for (const std::string& calibrator : calibrators_tried)
    for (const RangeOptions& options : {symmetric_range, affine_range}) {
      SCOPED_TRACE(concat(calibrator, options.symmetric ? ", symmetric" : ", affine"));
      check(calibrator, options);
    }
}

TEST(calibrators, ranges_scale_with_the_values) {
  for_each_way([](const std::string& calibrator, const RangeOptions& options) {
    for (const Floats& values : {normal(3000), heavy_tail(3000), relu(3000)}) {
      const Range range = range_of(calibrator, values, options);
      for (const int exponent : {-60, -3, 1, 50}) {
        Floats scaled = values;
        for (float& value : scaled) value = std::ldexp(value, exponent);
        const Range expected{std::ldexp(range.low, exponent), std::ldexp(range.high, exponent)};
        EXPECT_EQ(range_of(calibrator, scaled, options), expected) << exponent;
      }
    }
  });
}

TEST(calibrators, ranges_hold_zero_and_no_more_than_was_seen) {
  for_each_way([](const std::string& calibrator, const RangeOptions& options) {
    for (const Floats& values : {normal(3000), heavy_tail(3000), relu(3000), Floats{3}, Floats{-3},
                                 any_bits(3000), Floats{-5, -4, -1e-3f}}) {
      const Range range = range_of(calibrator, values, options),
                  whole = range_of("absmax", values, options);
      EXPECT_LE(whole.low, range.low);
      EXPECT_LE(range.low, 0);
      EXPECT_LE(0, range.high);
      EXPECT_LE(range.high, whole.high);
      EXPECT_EQ(range.low, options.symmetric ? -range.high : range.low);
    }
  });
}

TEST(calibrators, values_without_any_size_give_an_empty_range) {
  for_each_way([](const std::string& calibrator, const RangeOptions& options) {
    for (const Floats& values :
         {Floats{}, Floats{NAN, INFINITY, -INFINITY}, Floats(9, 0.0f), Floats{-0.0f}}) {
      EXPECT_EQ(range_of(calibrator, values, options), (Range{0, 0}));
    }
  });
}

TEST(calibrators, constant_values_are_the_end_of_the_range) {
  for_each_way([](const std::string& calibrator, const RangeOptions& options) {
    for (const float value : {0.3f, -0.3f, 1e-45f, -1e-40f, 3.4e38f, -3.4e38f}) {
      const Range range = range_of(calibrator, Floats(1000, value), options);
      EXPECT_EQ(value > 0 ? range.high : range.low, value);
      EXPECT_EQ(value > 0 ? range.low : range.high, options.symmetric ? -value : 0);
    }
  });
}

TEST(calibrators, what_is_not_finite_does_not_count) {
  for_each_way([](const std::string& calibrator, const RangeOptions& options) {
    Floats values = normal(1000);
    const Range range = range_of(calibrator, values, options);
    values.insert(values.begin() + 500, {NAN, INFINITY, -INFINITY});
    EXPECT_EQ(range_of(calibrator, values, options), range);
  });
}

TEST(calibrators, negative_values_leave_nothing_above_zero) {
  for_each_way([](const std::string& calibrator, const RangeOptions& options) {
    Floats values = relu(3000);
    for (float& value : values) value = -value;
    const Range range = range_of(calibrator, values, options);
    EXPECT_LT(range.low, 0);
    EXPECT_EQ(range.high, options.symmetric ? -range.low : 0);
  });
}

TEST(calibrators, one_outlier_among_many_is_cut_by_some) {
  Floats values = normal(1000000);
  values[4711] = 30;
  EXPECT_EQ(range_of("absmax", values, symmetric_range).high, 30);
  EXPECT_NEAR(range_of("percentile", values, symmetric_range).high, 3.89, 0.05);
  EXPECT_LT(range_of("entropy", values, symmetric_range).high, 6);
  EXPECT_LT(range_of("mse", values, symmetric_range).high, 6);
}

// Twice as many levels on one side of 0 are worth a wider clip of tails as long as these.
TEST(calibrators, values_of_one_sign_have_all_levels) {
  Floats values = normal(100000);
  for (float& value : values) value = std::abs(std::pow(value, 15.0f));
  const float symmetric = range_of("entropy", values, symmetric_range).high;
  EXPECT_GT(range_of("entropy", values, affine_range).high, 1.1f * symmetric);
  values[0] = -1;
  EXPECT_EQ(range_of("entropy", values, affine_range).high, symmetric);
}

TEST(calibrators, all_values_are_the_whole_range) {
  const Floats values = heavy_tail(5000);
  for (const RangeOptions& options : {symmetric_range, affine_range})
    EXPECT_EQ(range_of("percentile(100)", values, options), range_of("absmax", values, options));
}

TEST(calibrators, fewer_levels_cut_more) {
  const Floats values = normal(20000);
  const float narrow = range_of("mse", values, {.symmetric = true, .levels = 15}).high;
  EXPECT_LT(narrow, 0.8f * range_of("mse", values, symmetric_range).high);
}

std::string error_of(std::string_view calibrator) {
  try {
    check_calibrator(calibrator);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(calibrators, names_are_checked) {
  for (const std::string& calibrator : calibrators_tried)
    EXPECT_EQ(error_of(calibrator), "no error");
  EXPECT_EQ(error_of("entrpy"),
            "calibrator: expected one of absmax, entropy, mse, percentile, got 'entrpy'; did you "
            "mean entropy?");
  EXPECT_EQ(error_of("mse(3)"), "calibrator: mse takes no number, got '(3)'");
  for (const char* wrong : {"percentile(0)", "percentile(101)", "percentile(x)", "percentile(",
                            "percentile()", "percentile(9", "percentile(9))", "percentile(nan)"})
    EXPECT_TRUE(error_of(wrong).starts_with(
        "calibrator: percentile: expected a percentage above 0 and up to 100 in parentheses, got "))
        << error_of(wrong);
  EXPECT_NE(error_of(""), "no error");
  EXPECT_THROW(choose_range("mse", {}, {.symmetric = true, .levels = 2}), UsageError);
}

TEST(calibrators, help_names_all) {
  for (const char* name : {"absmax", "percentile(99.99)", "entropy", "mse"})
    EXPECT_NE(calibrator_help().find(name), std::string::npos) << calibrator_help();
}

}  // namespace
}  // namespace narrowgauge::calibrators_test
