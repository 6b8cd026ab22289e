// SPDX-License-Identifier: Apache-2.0
// Bytes hold neither NaN nor infinities: what engines answer where a sample has one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "api/small_training.h"
#include "narrowgauge/narrowgauge.h"

namespace narrowgauge::engine_not_finite_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Engine engine_in(EnginePrecision precision) {
  ConvertOptions options;
  options.precision = precision;
  options.calibration = small_source(32);
  return convert(Model("small", small_network(), 3), options);
}

bool is_nan_row(const Tensor& scores, std::int64_t row) {
  const std::int64_t classes = scores.dims()[1];
  std::int64_t count = 0;
  for (std::int64_t i = row * classes; i < (row + 1) * classes; ++i)
    count += std::isnan(scores.at(i));
  EXPECT_TRUE(count == 0 || count == classes) << row;
  return count > 0;
}

class NotFinite : public testing::TestWithParam<EnginePrecision> {};

TEST_P(NotFinite, the_sample_alone_answers_nan) {
  const Engine engine = engine_in(GetParam());
  const Tensor usual = small_batch(1, 5)[0], scores = engine.predict(usual);
  // Floats may keep an infinity as one.
  const bool bytes = GetParam() == EnginePrecision::int8;
  for (const double value : bytes ? std::vector{nan, infinity, -infinity} : std::vector{nan}) {
    Tensor images = usual.clone();
    images.set(2 * 144 + 70, value);
    const Tensor got = engine.predict(images);
    for (std::int64_t row = 0; row < 5; ++row) EXPECT_EQ(is_nan_row(got, row), row == 2) << value;
    for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(got.at(i), scores.at(i)) << value;
    EXPECT_TRUE(engine.predict(usual).same_bits(scores));
  }
}

TEST_P(NotFinite, so_does_a_batch_of_one_and_a_large_batch_in_parts) {
  const Engine engine = engine_in(GetParam());
  Tensor one = small_batch(1, 1)[0];
  one.set(0, nan);
  EXPECT_TRUE(is_nan_row(engine.predict(one), 0));
  Tensor many = small_batch(2, 2048)[0];
  many.set(1999 * 144 + 3, nan);
  const Tensor scores = engine.predict(many);
  for (std::int64_t row = 0; row < 2048; ++row) EXPECT_EQ(is_nan_row(scores, row), row == 1999);
}

INSTANTIATE_TEST_SUITE_P(each, NotFinite,
                         testing::Values(EnginePrecision::f32, EnginePrecision::bf16,
                                         EnginePrecision::f16, EnginePrecision::int8));

}  // namespace
}  // namespace narrowgauge::engine_not_finite_test
