// SPDX-License-Identifier: Apache-2.0
#include "quantize/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "base/machine/floating_environment.h"
#include "narrowgauge/error.h"
#include "quantize/values.h"

namespace narrowgauge::histogram_test {
namespace {

using namespace testing_values;

constexpr float subnormal = 1e-45f;

// The bin of a finite value by its definition: at a distance from 0 that is cut to 8 significant
// bits, or to a multiple of 2^-133 below the normal numbers.
std::pair<double, double> bin_of(double value) {
  if (value == 0) return {0, 0};
  const double size = std::abs(value);
  const int exponent = std::max(std::ilogb(size), -126) - 7;
  const double step = std::ldexp(1, exponent), inner = std::floor(size / step) * step;
  if (value > 0) return {inner, inner + step};
  return {-(inner + step), -inner};
}

struct Counted {
  std::map<std::pair<double, double>, std::int64_t> bins;
  std::int64_t nans = 0, infinities = 0;
  double least = INFINITY, most = -INFINITY;
};

Counted count_plainly(const Floats& values) {
  Counted counted;
  for (const float value : values) {
    if (std::isnan(value)) {
      ++counted.nans;
    } else if (std::isinf(value)) {
      ++counted.infinities;
    } else {
      ++counted.bins[bin_of(value)];
      counted.least = std::min(counted.least, double{value});
      counted.most = std::max(counted.most, double{value});
    }
  }
  return counted;
}

void expect_counts(const Floats& values) {
  const Histogram histogram = histogram_of(values);
  const Counted expected = count_plainly(values);
  EXPECT_EQ(histogram.nans(), expected.nans);
  EXPECT_EQ(histogram.infinities(), expected.infinities);
  EXPECT_EQ(histogram.least(), expected.least);
  EXPECT_EQ(histogram.most(), expected.most);
  const auto bins = histogram.bins();
  ASSERT_EQ(bins.size(), expected.bins.size());
  std::size_t i = 0;
  for (const auto& [borders, count] : expected.bins) {
    EXPECT_EQ(bins[i].low, i == 0 ? expected.least : borders.first);
    EXPECT_EQ(bins[i].high, i + 1 == bins.size() ? expected.most : borders.second);
    EXPECT_EQ(bins[i++].count, count);
  }
}

TEST(histogram, counts_values_by_their_first_bits) {
  expect_counts(normal(20000));
  expect_counts(heavy_tail(20000));
  expect_counts(relu(20000));
  expect_counts(any_bits(200000));
  expect_counts({1.0f, 1.0078125f, std::nextafter(1.0078125f, 0.0f), -1.0f, -1.0078125f});
}

TEST(histogram, degenerate_values) {
  const Histogram empty = histogram_of({});
  EXPECT_TRUE(empty.is_empty());
  EXPECT_EQ(empty.count(), 0);
  EXPECT_TRUE(empty.bins().empty());

  const Histogram zeros = histogram_of(Floats{0.0f, -0.0f, -0.0f});
  EXPECT_EQ(zeros.bins(), std::vector<HistogramBin>({{0, 0, 3}}));
  EXPECT_FALSE(std::signbit(zeros.least()) || std::signbit(zeros.most()));

  const Histogram minus_zero = histogram_of(Floats{-0.0f});
  EXPECT_FALSE(std::signbit(minus_zero.least()) || std::signbit(minus_zero.most()));

  const Histogram constant = histogram_of(Floats(5, 0.3f));
  EXPECT_EQ(constant.bins(), std::vector<HistogramBin>({{0.3f, 0.3f, 5}}));

  const Histogram negative = histogram_of(Floats{-3, -2});
  EXPECT_EQ(negative.least(), -3);
  EXPECT_EQ(negative.most(), -2);

  const Histogram nothing_finite = histogram_of(Floats{NAN, -NAN, INFINITY, -INFINITY, NAN});
  EXPECT_TRUE(nothing_finite.is_empty());
  EXPECT_EQ(nothing_finite.nans(), 3);
  EXPECT_EQ(nothing_finite.infinities(), 2);
}

TEST(histogram, subnormals_are_kept_where_the_thread_flushes_them) {
  const Floats values{0.0f, subnormal, -subnormal, 2e-40f};
  Histogram flushed;
  {
    const FloatingEnvironment flush(Subnormals::flush);
    for (const float value : values) flushed.add(std::span(&value, 1));
  }
  EXPECT_EQ(flushed, histogram_of(values));
  EXPECT_EQ(flushed.least(), -subnormal);
  EXPECT_EQ(flushed.most(), 2e-40f);
}

TEST(histogram, parts_in_any_order_give_the_whole) {
  Floats values = any_bits(50000);
  const Histogram whole = histogram_of(values);
  std::mt19937 dice(7);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(values.begin(), values.end(), dice);
    std::vector<Histogram> parts;
    for (std::size_t begin = 0; begin < values.size();) {
      const std::size_t size = std::min<std::size_t>(dice() % 9000, values.size() - begin);
      parts.push_back(histogram_of(std::span(values).subspan(begin, size)));
      begin += size;
    }
    std::shuffle(parts.begin(), parts.end(), dice);
    Histogram merged;
    for (const Histogram& part : parts) merged.merge(part);
    EXPECT_EQ(merged, whole);
  }
}

TEST(histogram, adding_one_by_one_is_adding_all) {
  const Floats values = any_bits(500);
  Histogram one_by_one;
  for (const float value : values) one_by_one.add(std::span(&value, 1));
  EXPECT_EQ(one_by_one, histogram_of(values));
}

TEST(histogram, different_values_differ) {
  EXPECT_NE(histogram_of(Floats{1}), histogram_of(Floats{2}));
  EXPECT_NE(histogram_of(Floats{1}), histogram_of(Floats{1.0001f}));
  EXPECT_NE(histogram_of(Floats{1}), histogram_of(Floats{1, 1}));
  EXPECT_NE(histogram_of(Floats{1}), histogram_of(Floats{1, NAN}));
}

TEST(histogram, magnitudes_are_those_of_absolute_values) {
  for (const Floats& values : {normal(5000), relu(5000), Floats{-3, -2}, Floats{0, -4}, Floats{}}) {
    Floats absolute = values;
    for (float& value : absolute) value = std::abs(value);
    const Histogram magnitudes = histogram_of(values).magnitudes(),
                    expected = histogram_of(absolute);
    EXPECT_TRUE(std::ranges::equal(magnitudes.entries(), expected.entries()));
    EXPECT_EQ(magnitudes.most(), expected.most());
    EXPECT_LE(magnitudes.least(), expected.least());
    EXPECT_GE(magnitudes.least(), expected.least() / 1.01f);
  }
}

Histogram rebuilt(const Histogram& from) {
  return Histogram::of({from.entries().begin(), from.entries().end()}, from.least(), from.most(),
                       from.nans(), from.infinities());
}

TEST(histogram, is_made_from_its_parts) {
  for (const Floats& values : {any_bits(5000), Floats{}, Floats{NAN}, Floats{-0.0f}})
    EXPECT_EQ(rebuilt(histogram_of(values)), histogram_of(values));
}

TEST(histogram, refuses_parts_that_no_values_give) {
  using Entries = std::vector<Histogram::Entry>;
  const auto place = histogram_of(Floats{1}).entries()[0].place;
  EXPECT_NO_THROW(Histogram::of(Entries{{place, 1}}, 1, 1, 0, 0));
  const Entries twice{{place, 1}, {place, 1}}, empty{{place, 0}}, outside{{0x7f81, 1}},
      too_many{{place, std::numeric_limits<std::int64_t>::max()}, {place + 1, 1}};
  EXPECT_THROW(Histogram::of(twice, 1, 1, 0, 0), UsageError);
  EXPECT_THROW(Histogram::of(empty, 1, 1, 0, 0), UsageError);
  EXPECT_THROW(Histogram::of(outside, 1, 1, 0, 0), UsageError);
  EXPECT_THROW(Histogram::of(too_many, 1, 1.01f, 0, 0), UsageError);
  EXPECT_THROW(Histogram::of(Entries{{place, 1}}, 1, 2, 0, 0), UsageError);
  EXPECT_THROW(Histogram::of(Entries{{place, 1}}, 0, 1, 0, 0), UsageError);
  EXPECT_THROW(Histogram::of(Entries{{place, 2}}, 1.001f, 1, 0, 0), UsageError);
  EXPECT_THROW(Histogram::of(Entries{}, 0, 1, 0, 0), UsageError);
  EXPECT_THROW(Histogram::of(Entries{{place, 1}}, 1, 1, -1, 0), UsageError);
}

}  // namespace
}  // namespace narrowgauge::histogram_test
