// SPDX-License-Identifier: Apache-2.0
#include "base/indexed_vector.h"

#include <gtest/gtest.h>

#include "base/enumerate.h"

namespace narrowgauge::indexed_vector_test {
namespace {

TEST(indexed_vector, is_called_by_the_numbers_that_add_returns) {
  IndexedVector<int, std::string> names;
  const int first = names.add("first"), second = names.add("second");
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  EXPECT_EQ(names[first], "first");
  EXPECT_EQ(names[second], "second");
  EXPECT_EQ(names.size(), 2);
}

TEST(indexed_vector, begins_with_so_many_equal_elements) {
  IndexedVector<std::int64_t, double> numbers(std::size_t{3}, 1.5);
  numbers[1] = 2;
  EXPECT_EQ(std::move(numbers).release(), (std::vector<double>{1.5, 2, 1.5}));
  const IndexedVector<int, bool> flags(2);
  EXPECT_FALSE(flags[0] || flags[1]);
}

TEST(enumerate, counts_elements_and_lets_them_change) {
  std::vector<int> values{5, 6, 7};
  std::vector<int> places;
  for (const auto& [place, value] : enumerate(values)) {
    places.push_back(place);
    value *= 10;
  }
  EXPECT_EQ(places, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(values, (std::vector<int>{50, 60, 70}));
}

TEST(enumerate, takes_spans_and_nothing) {
  const std::vector<int> values{5, 6, 7};
  int last = -1;
  for (const auto& [place, value] : enumerate(std::span(values).first(2))) last = place;
  EXPECT_EQ(last, 1);
  for (const auto& [place, value] : enumerate(std::span<const int>())) FAIL() << place << value;
}

}  // namespace
}  // namespace narrowgauge::indexed_vector_test
