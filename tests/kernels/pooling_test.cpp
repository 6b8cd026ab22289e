// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/pool/pooling.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "base/machine/cpu.h"
#include "base/machine/floating_environment.h"
#include "base/threads/parallel.h"
#include "kernels/array.h"
#include "kernels/cpu/pool/byte_max_pool.h"
#include "kernels/each_isa.h"

namespace narrowgauge::cpu::pooling_test {
namespace {

struct Case {
  const char* name;
  Dims x, y;
  PoolWindow window;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"2x2", {3, 16, 8, 8}, {3, 16, 4, 4}, {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}},
      {"overlapping", {2, 5, 9, 7}, {2, 5, 5, 4}, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}}},
      {"stride 1", {2, 8, 6, 6}, {2, 8, 6, 6}, {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
      {"asymmetric pads", {2, 3, 7, 6}, {2, 3, 4, 4}, {{2, 3}, {2, 2}, {1, 1}, {0, 2}, {1, 1}}},
      {"rounded up", {2, 4, 8, 8}, {2, 4, 4, 4}, {{3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}},
      {"rounded up beyond pads",
       {2, 4, 8, 8},
       {2, 4, 5, 5},
       {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}}},
      {"dilation", {2, 4, 9, 9}, {2, 4, 5, 5}, {{3, 3}, {1, 1}, {2, 2}, {0, 0}, {0, 0}}},
      {"dilation and pads", {2, 4, 9, 9}, {2, 4, 5, 4}, {{3, 2}, {2, 2}, {2, 3}, {2, 1}, {2, 0}}},
      {"gaps", {2, 4, 9, 9}, {2, 4, 3, 3}, {{1, 2}, {3, 3}, {1, 1}, {0, 0}, {0, 0}}},
      {"whole image", {2, 17, 5, 5}, {2, 17, 1, 1}, {{5, 5}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}},
      {"1-D", {2, 6, 20}, {2, 6, 9}, {{4}, {2}, {1}, {0}, {0}}},
      {"3-D",
       {2, 3, 5, 6, 4},
       {2, 3, 2, 3, 2},
       {{2, 2, 2}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}}},
      {"one channel", {4, 1, 6, 6}, {4, 1, 3, 3}, {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}},
      {"one place", {1, 1, 1, 1}, {1, 1, 1, 1}, {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}},
      {"wide", {1, 64, 30, 30}, {1, 64, 15, 15}, {{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}},
  };
  return all;
}

const Case& named(const std::string& name) {
  for (const Case& shape : cases())
    if (name == shape.name) return shape;
  throw UsageError("no case " + name);
}

struct Tap {
  std::int64_t number;  // in the window
  std::int64_t x;       // flat index in x, or -1 in the pads and beyond
  bool in_pads;
};

// body(flat index in y, taps of its window).
template <class Body>
void each_window(const Case& shape, const Body& body) {
  const PoolWindow& w = shape.window;
  const std::size_t axes = w.kernel.size();
  std::int64_t places = 1, taps = 1, size = 1;
  for (std::size_t i = 0; i < axes; ++i)
    places *= shape.y[i + 2], taps *= w.kernel[i], size *= shape.x[i + 2];
  for (std::int64_t y = 0; y < element_count(shape.y); ++y) {
    std::vector<Tap> window;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      std::int64_t place = y % places, rest = tap, from = 0, step = 1;
      bool inside = true, in_pads = true;
      for (std::size_t i = axes; i-- > 0;) {
        const std::int64_t at = place % shape.y[i + 2] * w.strides[i] - w.pads_begin[i] +
                                rest % w.kernel[i] * w.dilations[i];
        inside = inside && at >= 0 && at < shape.x[i + 2];
        in_pads = in_pads && at < shape.x[i + 2] + w.pads_end[i];
        from += at * step;
        step *= shape.x[i + 2];
        place /= shape.y[i + 2];
        rest /= w.kernel[i];
      }
      window.push_back({tap, inside ? y / places * size + from : -1, in_pads});
    }
    body(static_cast<std::size_t>(y), window);
  }
}

struct Maxima {
  std::vector<double> values;
  std::vector<std::int64_t> taps, flat;
};

Maxima maxima(const Case& shape, const std::vector<double>& x) {
  Maxima result;
  each_window(shape, [&](std::size_t, const std::vector<Tap>& window) {
    const Tap* best = nullptr;
    for (const Tap& tap : window) {
      if (tap.x < 0) continue;
      const double v = x[static_cast<std::size_t>(tap.x)];
      const double b = best ? x[static_cast<std::size_t>(best->x)] : 0;
      if (!best || v > b || (std::isnan(v) && !std::isnan(b))) best = &tap;
    }
    result.values.push_back(x[static_cast<std::size_t>(best->x)]);
    result.taps.push_back(best->number);
    result.flat.push_back(best->x);
  });
  return result;
}

const Layout layouts[] = {Layout::row_major, Layout::channels_last, Layout::channel_slice,
                          Layout::channel_slice_row_major};
const DType dtypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64};

void expect_max_pool(const Case& shape, DType dtype, Layout layout, DType index_dtype) {
  GuardedArray x(dtype, shape.x, layout), y(dtype, shape.y, layout),
      indices(index_dtype, shape.y, layout);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i * 7919 % 23) - 11);
  run(prepare_max_pool(x.view(), y.view(), indices.view(), shape.window), {&x}, {&y, &indices});
  const std::string what = concat(shape.name, ' ', dtype, " layout ", static_cast<int>(layout));
  const Maxima expected = maxima(shape, x.values());
  EXPECT_EQ(y.values(), expected.values) << what;
  EXPECT_TRUE(y.guards_intact() && indices.guards_intact()) << what;
  const std::vector<std::int64_t>& wanted =
      index_dtype == DType::i64 ? expected.flat : expected.taps;
  for (std::int64_t i = 0; i < y.size(); ++i)
    ASSERT_EQ(indices.at(i), static_cast<double>(wanted[static_cast<std::size_t>(i)])) << what;

  GuardedArray alone(dtype, shape.y, layout);
  run(prepare_max_pool(x.view(), alone.view(), {}, shape.window), {&x}, {&alone});
  EXPECT_TRUE(alone.same_bytes(y)) << what;

  GuardedArray dy(dtype, shape.y, layout), dx(dtype, shape.x, layout);
  dy.randomize(3);
  run(prepare_max_pool_gradient(dy.view(), indices.view(), dx.view(), shape.window),
      {&dy, &indices}, {&dx});
  std::vector<double> gradient(static_cast<std::size_t>(x.size()));
  for (std::int64_t i = 0; i < y.size(); ++i)
    gradient[static_cast<std::size_t>(expected.flat[static_cast<std::size_t>(i)])] += dy.at(i);
  expect_within_format(dx, gradient, what);
}

TEST(max_pool, every_shape_layout_and_format_matches_the_reference) {
  for (const Case& shape : cases())
    for (const DType dtype : dtypes)
      for (const Layout layout : layouts)
        for (const DType index : {DType::u8, DType::i32, DType::i64})
          expect_max_pool(shape, dtype, layout, index);
}

TEST(max_pool, layouts_of_operands_may_differ) {
  const Case& shape = named("overlapping");
  GuardedArray x(DType::f16, shape.x, Layout::channels_last),
      y(DType::f16, shape.y, Layout::row_major);
  GuardedArray indices(DType::u8, shape.y, Layout::channel_slice);
  x.randomize(1);
  run(prepare_max_pool(x.view(), y.view(), indices.view(), shape.window), {&x}, {&y, &indices});
  EXPECT_EQ(y.values(), maxima(shape, x.values()).values);
}

TEST(max_pool, nan_reaches_the_windows_that_see_it_and_minus_infinity_has_an_index) {
  const Case& shape = named("overlapping");
  for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
    GuardedArray x(DType::f16, shape.x, layout), y(DType::f16, shape.y, layout);
    GuardedArray indices(DType::i64, shape.y, layout);
    for (std::int64_t i = 0; i < x.size(); ++i)
      x.set(i, i % 5 == 0 ? std::numeric_limits<double>::quiet_NaN()
                          : -std::numeric_limits<double>::infinity());
    run(prepare_max_pool(x.view(), y.view(), indices.view(), shape.window), {&x}, {&y, &indices});
    const Maxima expected = maxima(shape, x.values());
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const auto index = static_cast<std::size_t>(i);
      ASSERT_EQ(std::isnan(y.at(i)), std::isnan(expected.values[index]));
      ASSERT_EQ(indices.at(i), static_cast<double>(expected.flat[index]));
    }
  }
}

// Channels fill whole vectors or not; places hold a NaN of either sign, an infinity of either sign
// or nothing but -infinity.
TEST(max_pool, without_indices_orders_all_numbers_and_keeps_nan_of_either_sign) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double numbers[] = {-infinity, -infinity, -3, -0x1p-126, 0x1p-126, 2, infinity, nan, -nan};
  const PoolWindow window{{1, 3}, {1, 2}, {1, 1}, {0, 1}, {0, 1}};
  const Case shape{"line", {2, 89, 2, 17}, {2, 89, 2, 9}, window};
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const std::uint32_t kinds : {2, 4, 7, 9}) {
      GuardedArray x(dtype, shape.x, Layout::channels_last);
      GuardedArray y(dtype, shape.y, Layout::channels_last);
      std::mt19937 random(kinds);
      for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, numbers[random() % kinds]);
      run(prepare_max_pool(x.view(), y.view(), {}, window), {&x}, {&y});
      const Maxima expected = maxima(shape, x.values());
      EXPECT_TRUE(y.guards_intact());
      for (std::int64_t i = 0; i < y.size(); ++i) {
        const double value = expected.values[static_cast<std::size_t>(i)];
        ASSERT_EQ(std::isnan(y.at(i)), std::isnan(value)) << name(dtype) << ' ' << i;
        ASSERT_TRUE(std::isnan(value) || y.at(i) == value) << name(dtype) << ' ' << i;
      }
    }
}

struct Averages {
  std::vector<double> values, gradient;
};

Averages averages(const Case& shape, const GuardedArray& x, const GuardedArray& dy, PoolCount how) {
  Averages result{{}, std::vector<double>(static_cast<std::size_t>(x.size()))};
  each_window(shape, [&](std::size_t y, const std::vector<Tap>& window) {
    double sum = 0, count = 0;
    for (const Tap& tap : window) {
      if (tap.x >= 0) sum += x.at(tap.x);
      count += how == PoolCount::with_pads ? tap.in_pads : tap.x >= 0;
    }
    result.values.push_back(sum / count);
    for (const Tap& tap : window)
      if (tap.x >= 0)
        result.gradient[static_cast<std::size_t>(tap.x)] +=
            dy.at(static_cast<std::int64_t>(y)) / count;
  });
  return result;
}

// Bytes compare as their values in f32 do; a window without a value gives the least byte.
TEST(max_pool, bytes_are_pooled_as_their_values) {
  for (const Case& shape : cases())
    for (const DType dtype : {DType::u8, DType::i8})
      for (const Layout layout :
           {Layout::row_major, Layout::channels_last, Layout::channel_slice}) {
        GuardedArray x(dtype, shape.x, layout), y(dtype, shape.y, layout);
        GuardedArray wide(DType::f32, shape.x), expected(DType::f32, shape.y);
        const double least = dtype == DType::u8 ? 0 : -128;
        std::mt19937 random(3);
        for (std::int64_t i = 0; i < x.size(); ++i) {
          x.set(i, static_cast<double>(random() % 256) + least);
          wide.set(i, x.at(i));
        }
        run(prepare_byte_max_pool(x.view(), y.view(), shape.window), {&x}, {&y});
        run(prepare_max_pool(wide.view(), expected.view(), {}, shape.window), {&wide}, {&expected});
        EXPECT_TRUE(y.guards_intact()) << shape.name;
        for (std::int64_t i = 0; i < y.size(); ++i)
          ASSERT_EQ(y.at(i), std::max(expected.at(i), least)) << shape.name << ' ' << i;
      }
}

TEST(average_pool, every_shape_layout_and_format_matches_the_reference) {
  for (const Case& shape : cases())
    for (const DType dtype : dtypes)
      for (const Layout layout : layouts)
        for (const PoolCount how : {PoolCount::without_pads, PoolCount::with_pads}) {
          GuardedArray x(dtype, shape.x, layout), y(dtype, shape.y, layout);
          GuardedArray dy(dtype, shape.y, layout), dx(dtype, shape.x, layout);
          x.randomize(1), dy.randomize(2);
          run(prepare_average_pool(x.view(), y.view(), shape.window, how), {&x}, {&y});
          run(prepare_average_pool_gradient(dy.view(), dx.view(), shape.window, how), {&dy}, {&dx});
          const Averages expected = averages(shape, x, dy, how);
          const std::string what =
              concat(shape.name, ' ', dtype, " layout ", static_cast<int>(layout));
          expect_within_format(y, expected.values, what);
          expect_within_format(dx, expected.gradient, what);
        }
}

TEST(average_pool, mean_of_a_large_image_is_right_to_the_last_digits) {
  const PoolWindow window{{512, 512}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
    GuardedArray x(DType::f32, {1, 3, 512, 512}, layout), y(DType::f32, {1, 3, 1, 1}, layout);
    for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, 0.1f);
    run(prepare_average_pool(x.view(), y.view(), window, PoolCount::without_pads), {&x}, {&y});
    for (const double mean : y.values()) EXPECT_FLOAT_EQ(static_cast<float>(mean), 0.1f);
  }
}

TEST(average_pool, gradient_of_many_windows_is_right_to_the_last_digits) {
  const Dims dims = {1, 1, 64, 64};
  const PoolWindow window{{127, 127}, {1, 1}, {1, 1}, {63, 63}, {63, 63}};
  GuardedArray dy(DType::f32, dims), dx(DType::f32, dims);
  for (std::int64_t i = 0; i < dy.size(); ++i) dy.set(i, 0.1f);
  run(prepare_average_pool_gradient(dy.view(), dx.view(), window, PoolCount::without_pads), {&dy},
      {&dx});
  // Every window sees the whole image.
  for (const double value : dx.values()) ASSERT_FLOAT_EQ(static_cast<float>(value), 0.1f);
}

TEST(average_pool, counts_what_becomes_zero_in_f16_under_flush_to_zero) {
  const Case& shape = named("2x2");
  GuardedArray x(DType::f16, shape.x), y(DType::f16, shape.y);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, i % 16 == 0 ? 0x1p-24 : i % 8 < 2 ? 0 : 1);
  const FloatingEnvironment flush(Subnormals::flush);
  const Prepared pool =
      prepare_average_pool(x.view(), y.view(), shape.window, PoolCount::without_pads);
  // One window in four holds a single 2^-24 and averages to 2^-26.
  EXPECT_EQ(run(pool, {&x}, {&y}), y.size() / 4);
}

TEST(pooling, gives_the_same_bits_for_any_number_of_threads) {
  const Case& shape = named("wide");
  std::vector<GuardedArray> results;
  for (const int threads : {1, 2, 3}) {
    const ThreadScope scope(threads);
    GuardedArray dy(DType::f32, shape.y, Layout::channels_last), dx(DType::f32, shape.x);
    dy.randomize(1);
    run(prepare_average_pool_gradient(dy.view(), dx.view(), shape.window, PoolCount::with_pads),
        {&dy}, {&dx});
    results.push_back(dx);
  }
  EXPECT_TRUE(results[0].same_bytes(results[1]) && results[0].same_bytes(results[2]));
}

TEST(pooling, takes_images_without_channels) {
  const Dims x_dims = {2, 0, 4, 4}, y_dims = {2, 0, 2, 2};
  const PoolWindow window{{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
  for (const Layout layout : {Layout::row_major, Layout::channels_last}) {
    GuardedArray x(DType::f32, x_dims, layout), y(DType::f32, y_dims, layout);
    GuardedArray indices(DType::u8, y_dims, layout);
    run(prepare_max_pool(x.view(), y.view(), indices.view(), window), {&x}, {&y, &indices});
    run(prepare_max_pool_gradient(y.view(), indices.view(), x.view(), window), {&y, &indices},
        {&x});
    run(prepare_average_pool(x.view(), y.view(), window, PoolCount::with_pads), {&x}, {&y});
    EXPECT_TRUE(x.guards_intact() && y.guards_intact() && indices.guards_intact());
  }
}

TEST(pooling, refuses_what_does_not_fit) {
  const PoolWindow window{{2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
  const View x = dense_view(DType::f32, {2, 3, 4, 4}), y = dense_view(DType::f32, {2, 3, 2, 2});
  EXPECT_NO_THROW(prepare_max_pool(x, y, {}, window));
  EXPECT_THROW(prepare_max_pool(x, dense_view(DType::f32, {2, 4, 2, 2}), {}, window), UsageError);
  EXPECT_THROW(prepare_max_pool(x, dense_view(DType::f32, {2, 3, 3, 2}), {}, window), UsageError);
  EXPECT_THROW(prepare_max_pool(x, dense_view(DType::f64, {2, 3, 2, 2}), {}, window), UsageError);
  EXPECT_THROW(prepare_max_pool(x, y, dense_view(DType::i16, {2, 3, 2, 2}), window), UsageError);
  EXPECT_THROW(prepare_average_pool(x, y, {{2}, {2}, {1}, {0}, {0}}, PoolCount::with_pads),
               UsageError);
}

TEST(pooling, tests_pass_under_each_cap_of_the_instruction_set) {
  expect_tests_pass_under_each_isa("max_pool.*:average_pool.*:pooling.*-*under_each_cap*");
}

}  // namespace
}  // namespace narrowgauge::cpu::pooling_test
