// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

namespace narrowgauge::random_test {
namespace {

// Known answers that its authors publish with the Random123 library (philox4x32, 10 rounds).
TEST(philox, matches_the_published_vectors) {
  EXPECT_EQ(philox(0, 0, 0), (RandomBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ULL, ~0ULL, ~0ULL),
            (RandomBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0'a4093822, 0x03707344'13198a2e, 0x85a308d3'243f6a88),
            (RandomBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(stable_hash, is_fnv1a) {
  EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8ULL);
  EXPECT_NE(stable_hash("\xff"), stable_hash("\x7f"));
}

TEST(random_stream, is_named_by_seed_name_and_step) {
  std::set<std::uint32_t> first_numbers;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (char letter = 'a'; letter < 'k'; ++letter)
      for (std::uint64_t step = 0; step < 5; ++step)
        first_numbers.insert(RandomStream(seed, std::string(1, letter), step).bits(0));
  EXPECT_EQ(first_numbers.size(), 1000U);  // two of 1000 equal by chance: 1 in 8600
  EXPECT_EQ(RandomStream(3, "dropout", 7).bits(11), RandomStream(3, "dropout", 7).bits(11));
}

TEST(random_stream, gives_blocks_and_single_elements_alike) {
  const RandomStream stream(1, "x");
  for (std::uint64_t element = 0; element < 64; ++element)
    EXPECT_EQ(stream.bits(element), stream.block(element / 4)[element % 4]);
}

TEST(random_stream, draws_uniform_numbers_from_half_open_interval) {
  const RandomStream stream(42, "uniform");
  constexpr int count = 1'000'000;
  double sum = 0, squares = 0, neighbours = 0, previous = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double value = stream.uniform(i);
    ASSERT_TRUE(value >= 0 && value < 1);
    sum += value;
    squares += value * value;
    neighbours += (value - 0.5) * previous;
    previous = value - 0.5;
  }
  // Five standard errors.
  EXPECT_NEAR(sum / count, 0.5, 5 * std::sqrt(1.0 / 12 / count));
  EXPECT_NEAR(squares / count, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / count));
  EXPECT_NEAR(neighbours / count, 0, 5.0 / 12 / std::sqrt(count));
}

TEST(random_stream, draws_normal_numbers) {
  const RandomStream stream(42, "normal");
  constexpr int count = 1'000'000;
  double sum = 0, squares = 0, fourth = 0, pairs = 0;
  int beyond_two = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double value = stream.normal(i);
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
    if (i % 2 == 1) pairs += value * stream.normal(i - 1);
    if (std::fabs(value) > 2) ++beyond_two;
  }
  const double error = 1 / std::sqrt(count);
  EXPECT_NEAR(sum / count, 0, 5 * error);
  EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2.0) * error);
  EXPECT_NEAR(fourth / count, 3, 5 * std::sqrt(96.0) * error);
  EXPECT_NEAR(2 * pairs / count, 0, 5 * std::sqrt(2.0) * error);
  const double expected = std::erfc(2 / std::sqrt(2.0));
  EXPECT_NEAR(beyond_two / double{count}, expected, 5 * std::sqrt(expected) * error);
}

}  // namespace
}  // namespace narrowgauge::random_test
