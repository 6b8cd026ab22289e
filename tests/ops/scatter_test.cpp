// SPDX-License-Identifier: Apache-2.0
#include "ops/index/scatter.h"

#include "ops/axes/axes.h"
#include "ops/index/gather_elements.h"
#include "support/run_op.h"

namespace narrowgauge::testing_support::scatter_test {
namespace {

Tensor numbers(Dims dims, const std::vector<float>& values) {
  return Tensor::from<float>(std::move(dims), values);
}
Tensor indices(Dims dims, const Dims& values) { return list_of(values).reshaped(std::move(dims)); }

const Tensor data = numbers({3}, {1, 2, 3});

TEST(scatter_elements, reduces_all_updates_of_a_place) {
  const Tensor places = indices({3}, {1, -1, 1}), updates = numbers({3}, {5, 7, -4});
  const auto y = [&](const char* reduction) {
    return to_doubles(run_op(ScatterElements{0, reduction}, {data, places, updates})[0]);
  };
  EXPECT_EQ(y("none"), (std::vector<double>{1, -4, 7}));
  EXPECT_EQ(y("add"), (std::vector<double>{1, 3, 10}));
  EXPECT_EQ(y("mul"), (std::vector<double>{1, -40, 21}));
  EXPECT_EQ(y("max"), (std::vector<double>{1, 5, 7}));
  EXPECT_EQ(y("min"), (std::vector<double>{1, -4, 3}));
  EXPECT_THROW(y("mean"), UsageError);
}

TEST(scatter_nd, adds_up_large_integers_exactly) {
  constexpr std::int64_t large = (std::int64_t{1} << 53) + 1;
  const Tensor y = run_op(ScatterND{"add"},
                          {list_of(Dims{0, large}), indices({1, 1}, {1}), list_of(Dims{2})})[0];
  EXPECT_EQ(y.values<std::int64_t>()[1], large + 2);
}

TEST(scatter_nd, wraps_around_and_orders_numbers_beyond_i64) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const auto y = [&](const char* reduction) {
    return run_op(ScatterND{reduction},
                  {Tensor::from<std::uint64_t>({1}, std::vector{most}), indices({3, 1}, {0, 0, 0}),
                   Tensor::from<std::uint64_t>({3}, std::vector<std::uint64_t>{most, most, 7})})[0]
        .values<std::uint64_t>()[0];
  };
  EXPECT_EQ(y("add"), 4U);
  EXPECT_EQ(y("mul"), most - 6);
  EXPECT_EQ(y("max"), most);
  EXPECT_EQ(y("min"), 7U);
}

TEST(places, outside_an_axis_are_refused) {
  for (const std::int64_t place : {3, -4}) {
    const Tensor places = indices({1}, {place}), one = numbers({1}, {1});
    EXPECT_THROW(run_op(GatherElements{}, {data, places}), DataError);
    EXPECT_THROW(run_op(GatherND{}, {data, places}), DataError);
    EXPECT_THROW(run_op(ScatterElements{}, {data, places, one}), DataError);
    EXPECT_THROW(run_op(ScatterND{}, {data, places, numbers({}, {1})}), DataError);
  }
}

}  // namespace
}  // namespace narrowgauge::testing_support::scatter_test
