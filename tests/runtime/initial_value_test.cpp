// SPDX-License-Identifier: Apache-2.0
// The numbers that states begin with.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "runtime/state_store.h"

namespace narrowgauge::initial_value_test {
namespace {

Tensor begin(Initial initial, Dims dims = {300, 341}, DType dtype = DType::f32) {
  State state;
  state.name = "weight";
  state.type = {dtype, Shape(dims.begin(), dims.end())};
  state.initial = std::move(initial);
  return initial_value(state, 7);
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};
Moments moments_of(const Tensor& tensor) {
  double sum = 0, squares = 0, largest = 0;
  for (const float value : tensor.values<float>()) {
    sum += value;
    squares += static_cast<double>(value) * value;
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  const auto count = static_cast<double>(tensor.size());
  return {sum / count, std::sqrt(squares / count - sum * sum / count / count), largest};
}

TEST(initial_value, truncated_normal_stays_within_two_deviations) {
  const Moments found = moments_of(begin(Initial::truncated_normal(0, 0.02)));
  EXPECT_LE(found.largest, 0.04);
  EXPECT_GT(found.largest, 0.0399);
  EXPECT_NEAR(found.mean, 0, 0.0003);
  // sqrt(1 - 4 phi(2) / (2 Phi(2) - 1)) of the deviation, phi and Phi those of the normal.
  EXPECT_NEAR(found.deviation, 0.02 * 0.87962566, 0.0002);
}

TEST(initial_value, normal_has_the_deviation_asked_for) {
  const Moments found = moments_of(begin(Initial::normal(0, 0.5)));
  EXPECT_NEAR(found.mean, 0, 0.01);
  EXPECT_NEAR(found.deviation, 0.5, 0.01);
  EXPECT_GT(found.largest, 1.5);
}

TEST(initial_value, element_is_that_of_the_stream_whatever_surrounds_it) {
  const RandomStream stream(7, "weight");
  const Tensor wide = begin(Initial::normal(1, 2)), narrow = begin(Initial::normal(1, 2), {7});
  const Tensor exact = begin(Initial::normal(1, 2), {7}, DType::f64);
  const Tensor uniform = begin(Initial::uniform(-1, 3), {7});
  for (std::int64_t i = 0; i < 7; ++i) {
    const auto element = static_cast<std::uint64_t>(i);
    const double normal = 1 + 2.0 * stream.normal(element);
    EXPECT_EQ(exact.at(i), normal);
    EXPECT_EQ(wide.at(i), static_cast<float>(normal));
    EXPECT_EQ(narrow.at(i), static_cast<float>(normal));
    EXPECT_EQ(uniform.at(i), static_cast<float>(-1 + 4.0 * stream.uniform(element)));
  }
}

}  // namespace
}  // namespace narrowgauge::initial_value_test
