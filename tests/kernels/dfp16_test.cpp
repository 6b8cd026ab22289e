// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/dfp16.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <optional>

#include "base/cpu.h"
#include "kernels/array.h"
#include "kernels/convolution_case.h"
#include "kernels/each_isa.h"

namespace narrowgauge::cpu {
namespace {

#define NG_NEEDS_VNNI() \
  if (isa() < Isa::vnni) GTEST_SKIP() << "no AVX512_VNNI here"

using Draw = std::function<double(std::mt19937&)>;

struct Distribution {
  const char* name;
  Draw element;
  double row_spread = 0;  // powers of two between rows, at most
  double bound = 1.35;    // times the error of exact sums of operands rounded to f16
};

const std::vector<Distribution>& distributions() {
  static const std::vector<Distribution> all = {
      {"normal", [](std::mt19937& r) { return std::normal_distribution<double>(0, 1)(r); }},
      {"uniform", [](std::mt19937& r) { return std::uniform_real_distribution<double>(0, 1)(r); }},
      {"behind a relu",
       [](std::mt19937& r) { return std::max(0.0, std::normal_distribution<double>(0, 1)(r)); }},
      {"lognormal tail",
       [](std::mt19937& r) {
         std::normal_distribution<double> normal(0, 1);
         return std::exp(1.5 * normal(r)) * (normal(r) < 0 ? -1 : 1);
       },
       0, 1.8},
      {"rows of different size",
       [](std::mt19937& r) { return std::normal_distribution<double>(0, 1)(r); }, 6},
  };
  return all;
}

struct Size {
  std::int64_t m, n, k;
};

enum class Order { plain, transposed };

Array matrix(DType dtype, std::int64_t rows, std::int64_t columns, Order order,
             std::int64_t wider = 0) {
  View view = dense_view(dtype, {rows, columns});
  const bool plain = order == Order::plain;
  view.strides = plain ? Dims{columns + wider, 1} : Dims{1, rows + wider};
  return Array(view, plain ? rows * (columns + wider) : columns * (rows + wider));
}

void fill(Array& array, const Distribution& distribution, unsigned seed, bool by_rows) {
  std::mt19937 random(seed);
  const std::int64_t columns = array.view().dims[1], lines = array.view().dims[by_rows ? 0 : 1];
  std::vector<double> factors;
  for (std::int64_t i = 0; i < lines; ++i)
    factors.push_back(std::exp2(std::uniform_real_distribution<double>(
        -distribution.row_spread, distribution.row_spread)(random)));
  for (std::int64_t i = 0; i < array.size(); ++i)
    array.set(i, distribution.element(random) *
                     factors[static_cast<std::size_t>(by_rows ? i / columns : i % columns)]);
}

std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b,
                            const Size& size) {
  std::vector<double> y(static_cast<std::size_t>(size.m * size.n));
  for (std::int64_t i = 0; i < size.m; ++i)
    for (std::int64_t k = 0; k < size.k; ++k) {
      const double left = a[static_cast<std::size_t>(i * size.k + k)];
      for (std::int64_t j = 0; j < size.n; ++j)
        y[static_cast<std::size_t>(i * size.n + j)] +=
            left * b[static_cast<std::size_t>(k * size.n + j)];
    }
  return y;
}

std::vector<double> in_f16(const std::vector<double>& values) {
  Array rounded(DType::f16, {static_cast<std::int64_t>(values.size())});
  for (std::int64_t i = 0; i < rounded.size(); ++i)
    rounded.set(i, values[static_cast<std::size_t>(i)]);
  return rounded.values();
}

TEST(Dfp16, ErrorIsThatOfOperandsInF16) {
  NG_NEEDS_VNNI();
  const Size size{56, 64, 1024};
  for (const Distribution& distribution : distributions()) {
    Array a(DType::f32, {size.m, size.k}), b(DType::f32, {size.k, size.n});
    fill(a, distribution, 1, true), fill(b, distribution, 2, false);
    const std::vector<double> exact = product(a.values(), b.values(), size);
    const double contract =
        relative_error(product(in_f16(a.values()), in_f16(b.values()), size), exact);
    for (const DType dtype : {DType::f16, DType::f32}) {
      Array left(dtype, a.view().dims), right(dtype, b.view().dims),
          y(DType::f32, {size.m, size.n});
      for (std::int64_t i = 0; i < a.size(); ++i) left.set(i, a.at(i));
      for (std::int64_t i = 0; i < b.size(); ++i) right.set(i, b.at(i));
      run(prepare_dfp16_matmul({left.view(), right.view(), y.view(), {}}, {}), {&left, &right},
          {&y});
      const double error = relative_error(y.values(), exact);
      EXPECT_LE(error, distribution.bound * contract) << distribution.name << ' ' << name(dtype);
    }
  }
}

// Every edge: rows, columns and depths that are no multiple of anything, one and several chunks.
TEST(Dfp16, EveryShapeAndOrderMatchesTheReference) {
  NG_NEEDS_VNNI();
  const Size sizes[] = {{64, 64, 64},    {16, 32, 32},   {17, 33, 35},  {29, 47, 257},
                        {100, 200, 300}, {31, 40, 4099}, {57, 129, 511}};
  for (const Size& size : sizes)
    for (const DType in : {DType::f16, DType::f32})
      for (const DType out : {DType::f16, DType::f32})
        for (const Order left : {Order::plain, Order::transposed})
          for (const Order right : {Order::plain, Order::transposed}) {
            Array a = matrix(in, size.m, size.k, left, 3), b = matrix(in, size.k, size.n, right, 5);
            Array y = matrix(out, size.m, size.n, Order::plain, 2), bias(in, {size.n});
            a.randomize(1), b.randomize(2), bias.randomize(3);
            std::vector<double> expected = product(a.values(), b.values(), size);
            for (std::size_t i = 0; i < expected.size(); ++i)
              expected[i] += bias.at(static_cast<std::int64_t>(i) % size.n);
            run(prepare_dfp16_matmul({a.view(), b.view(), y.view(), bias.view()}, {}),
                {&a, &b, &bias}, {&y});
            const std::string what = concat(Dims{size.m, size.n, size.k}, ' ', in, ' ', out,
                                            static_cast<int>(left), static_cast<int>(right));
            EXPECT_LE(relative_error(y.values(), expected), out == DType::f16 ? 5e-4 : 4e-4)
                << what;
            EXPECT_TRUE(y.guards_intact()) << what;
          }
}

struct Batch {
  Dims a, b, y;
};

TEST(Dfp16, BatchesAndBroadcastsMatchTheReference) {
  NG_NEEDS_VNNI();
  const Batch batches[] = {{{5, 3, 40, 64}, {5, 3, 64, 48}, {5, 3, 40, 48}},
                           {{6, 20, 33}, {33, 32}, {6, 20, 32}},
                           {{2, 1, 20, 64}, {1, 3, 64, 32}, {2, 3, 20, 32}},
                           {{20, 64}, {4, 64, 32}, {4, 20, 32}},
                           {{30, 1, 64}, {64, 32}, {30, 1, 32}}};
  for (const Batch& batch : batches) {
    Array a(DType::f16, batch.a), b(DType::f16, batch.b), y(DType::f32, batch.y),
        f64(DType::f64, batch.y);
    a.randomize(1), b.randomize(2);
    Array wide_a(DType::f64, batch.a), wide_b(DType::f64, batch.b);
    for (std::int64_t i = 0; i < a.size(); ++i) wide_a.set(i, a.at(i));
    for (std::int64_t i = 0; i < b.size(); ++i) wide_b.set(i, b.at(i));
    run(prepare_matmul({wide_a.view(), wide_b.view(), f64.view(), {}}, {}), {&wide_a, &wide_b},
        {&f64});
    run(prepare_dfp16_matmul({a.view(), b.view(), y.view(), {}}, {.threads = 2}), {&a, &b}, {&y});
    EXPECT_LE(relative_error(y.values(), f64.values()), 3e-4) << concat(batch.y);
  }
}

// Operands whose integers reach the bound of Cauchy and Schwarz: a wrapped int32 has the wrong
// sign.
TEST(Dfp16, NoSumOverflowsWhereOperandsArePerfectlyCorrelated) {
  NG_NEEDS_VNNI();
  const Draw draws[] = {
      [](std::mt19937&) { return 1.0; }, [](std::mt19937&) { return 65504.0; },
      [](std::mt19937& r) { return std::normal_distribution<double>(0, 1)(r); },
      [](std::mt19937& r) { return r() % 64 == 0 ? (r() % 2 ? 60000.0 : -60000.0) : 1e-3; },
      [](std::mt19937& r) { return r() % 256 == 0 ? 1.0 : 0.0; }};
  for (const double sign : {1.0, -1.0})
    for (const Draw& draw : draws)
      for (const std::int64_t depth : {32, 255, 256, 1000})
        for (const DType dtype : {DType::f16, DType::f32}) {
          Array a(dtype, {32, depth}), y(DType::f32, {32, 32});
          Array b = matrix(dtype, depth, 32, Order::transposed);
          std::mt19937 random(7);
          for (std::int64_t i = 0; i < a.size(); ++i) a.set(i, draw(random));
          for (std::int64_t i = 0; i < a.size(); ++i)
            b.set(i % depth * 32 + i / depth, sign * a.at(i));
          run(prepare_dfp16_matmul({a.view(), b.view(), y.view(), {}}, {}), {&a, &b}, {&y});
          for (std::int64_t i = 0; i < 32; ++i) {
            double sum = 0;
            for (std::int64_t k = 0; k < depth; ++k)
              sum += a.at(i * depth + k) * a.at(i * depth + k);
            ASSERT_NEAR(y.at(i * 33), sign * sum, 1e-3 * sum) << depth << ' ' << name(dtype);
          }
        }
}

TEST(Dfp16, MagnitudesAtTheEndsOfF32AreScaled) {
  NG_NEEDS_VNNI();
  for (const double power : {-80.0, -60.0, 60.0, 80.0})
    for (const Order order : {Order::plain, Order::transposed}) {
      const Size size{16, 32, 64};
      Array a = matrix(DType::f32, size.m, size.k, order);
      Array b = matrix(DType::f32, size.k, size.n, order), y(DType::f32, {size.m, size.n});
      a.randomize(1, std::exp2(power)), b.randomize(2, std::exp2(-power));
      run(prepare_dfp16_matmul({a.view(), b.view(), y.view(), {}}, {}), {&a, &b}, {&y});
      EXPECT_LE(relative_error(y.values(), product(a.values(), b.values(), size)), 2e-4) << power;
    }
}

TEST(Dfp16, WhatIsNotFiniteReachesItsRowOrColumnAndNoOther) {
  NG_NEEDS_VNNI();
  const Size size{40, 48, 300};
  for (const DType dtype : {DType::f16, DType::f32})
    for (const double bad :
         {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::quiet_NaN()})
      for (const Order order : {Order::plain, Order::transposed})
        for (const bool left : {true, false}) {
          Array a = matrix(dtype, size.m, size.k, order), b = matrix(dtype, size.k, size.n, order);
          Array y(dtype, {size.m, size.n});
          a.randomize(1), b.randomize(2);
          (left ? a : b).set(left ? 17 * size.k + 270 : 3 * size.n + 29, bad);
          run(prepare_dfp16_matmul({a.view(), b.view(), y.view(), {}}, {}), {&a, &b}, {&y});
          for (std::int64_t i = 0; i < y.size(); ++i)
            ASSERT_EQ(std::isfinite(y.at(i)), left ? i / size.n != 17 : i % size.n != 29) << i;
        }
}

TEST(Dfp16, GivesTheSameBitsForAnyNumberOfThreads) {
  NG_NEEDS_VNNI();
  for (const Order order : {Order::plain, Order::transposed}) {
    Array a = matrix(DType::f16, 250, 600, order), b = matrix(DType::f16, 600, 200, order);
    a.randomize(1), b.randomize(2);
    const auto with = [&](int threads) {
      Array y(DType::f16, {250, 200});
      run(prepare_dfp16_matmul({a.view(), b.view(), y.view(), {}}, {.threads = threads}), {&a, &b},
          {&y});
      return y;
    };
    const Array one = with(1);
    EXPECT_TRUE(one.same_bytes(with(2)) && one.same_bytes(with(3)));
  }
}

TEST(Dfp16, CountsResultsThatBecomeZeroInF16) {
  NG_NEEDS_VNNI();
  // 19 rows: the halves of the last tile share one.
  Array a(DType::f16, {19, 32}), b(DType::f16, {32, 40}), y(DType::f16, {19, 40});
  for (std::int64_t i = 0; i < a.size(); ++i) a.set(i, i % 32 == 0 && i / 32 != 3 ? 0x1p-20 : 0);
  for (std::int64_t i = 0; i < b.size(); ++i) b.set(i, i / 40 == 0 && i % 40 != 5 ? 0x1p-20 : 0);
  EXPECT_EQ(run(prepare_dfp16_matmul({a.view(), b.view(), y.view(), {}}, {}), {&a, &b}, {&y}),
            18 * 39);
}

TEST(Dfp16, DeclinesWhatIsSmallOrLiesOtherwise) {
  const auto reason = [](const View& a, const View& b, const View& y) {
    return dfp16_matmul_reason({a, b, y, {}});
  };
  const auto dense = [](const Dims& dims) { return dense_view(DType::f16, dims); };
  if (isa() < Isa::vnni) {
    EXPECT_NE(reason(dense({64, 64}), dense({64, 64}), dense({64, 64})).find("VNNI"),
              std::string::npos);
    return;
  }
  EXPECT_EQ(reason(dense({64, 64}), dense({64, 64}), dense({64, 64})), "");
  EXPECT_NE(reason(dense({64, 31}), dense({31, 64}), dense({64, 64})), "");
  EXPECT_NE(reason(dense({64, 64}), dense({64, 31}), dense({64, 31})), "");
  EXPECT_NE(reason(dense({64, 64}), dense({64, 64}), {DType::f16, {64, 64}, {1, 64}}), "");
  EXPECT_NE(reason({DType::f16, {64, 64}, {128, 2}}, dense({64, 64}), dense({64, 64})), "");
  EXPECT_NE(reason(dense_view(DType::bf16, {64, 64}), dense({64, 64}), dense({64, 64})), "");
}

constexpr ConvolutionPass passes[] = {ConvolutionPass::forward, ConvolutionPass::data_gradient,
                                      ConvolutionPass::weight_gradient};

const std::vector<ConvolutionCase>& convolutions() {
  static const std::vector<ConvolutionCase> cases = {
      {"3x3", 3, 32, 48, {14, 14}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true},
      {"3x3, odd", 3, 17, 19, {9, 11}, {3, 3}, {}, {}, {1, 1}, {1, 1}, 1, true},
      {"3x3, many channels", 2, 300, 40, {7, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"stride 2", 2, 32, 33, {13, 14}, {3, 3}, {2, 2}, {}, {1, 1}, {1, 1}},
      {"stride 3 over a smaller kernel", 2, 16, 16, {10, 11}, {2, 2}, {3, 3}},
      {"1x1", 2, 64, 40, {6, 5}, {1, 1}, {}, {}, {}, {}, 1, true},
      {"1x1, few channels", 2, 16, 24, {6, 5}, {1, 1}, {}, {}, {}, {}, 1, true},
      {"1x1 stride 2", 2, 32, 64, {9, 8}, {1, 1}, {2, 2}, {}, {}, {}, 1, true},
      {"1x1 with pads", 2, 16, 16, {5, 5}, {1, 1}, {}, {}, {1, 1}, {1, 1}},
      {"asymmetric", 2, 16, 32, {8, 9}, {3, 2}, {2, 1}, {}, {1, 0}, {1, 1}},
      {"pads larger than the kernel", 2, 16, 16, {5, 5}, {3, 3}, {}, {}, {4, 4}, {4, 4}},
      {"dilation and stride", 2, 16, 24, {11, 12}, {3, 3}, {2, 2}, {2, 3}, {2, 1}, {1, 2}},
      {"7x7 in bands", 1, 16, 16, {24, 40}, {7, 7}, {2, 2}, {}, {3, 3}, {3, 3}},
      {"one pixel", 1, 16, 16, {1, 1}, {1, 1}},
      {"unused last rows", 2, 16, 16, {8, 8}, {3, 3}, {3, 3}},
      {"many images", 37, 32, 32, {7, 7}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
      {"two bands", 2, 16, 16, {65, 70}, {3, 3}, {}, {}, {1, 1}, {1, 1}},
  };
  return cases;
}

struct Convolved {
  Array result;
  std::vector<double> expected;
  std::int64_t flushed;
};

struct Setting {
  DType dtype = DType::f16;
  Layout layout = Layout::channels_last;
  int threads = 2;
};

// `bad`: set in the middle of the input that is no weight.
Convolved convolve(const ConvolutionCase& shape, ConvolutionPass pass, const Setting& setting,
                   std::optional<double> bad = {}) {
  Array x(setting.dtype, shape.x_dims(), setting.layout), w(setting.dtype, shape.w_dims());
  Array y(setting.dtype, shape.y_dims(), setting.layout), bias(setting.dtype, {shape.outputs});
  x.randomize(1), w.randomize(2, 0.1), y.randomize(3), bias.randomize(4);
  if (bad) {
    Array& in = pass == ConvolutionPass::data_gradient ? y : x;
    in.set(in.size() / 2, *bad);
  }
  ConvolutionViews views{x.view(), w.view(), y.view(), {}};
  const bool has_bias = shape.bias && pass == ConvolutionPass::forward;
  if (has_bias) views.bias = bias.view();
  const Prepared prepared =
      prepare_dfp16_convolution(pass, views, shape.window(), {.threads = setting.threads});
  const ConvolutionReference reference(shape, x, w, y);
  if (pass == ConvolutionPass::forward) {
    const std::vector<double> expected = reference.forward(has_bias ? &bias : nullptr);
    const std::int64_t flushed = run(prepared, {&x, &w, &bias}, {&y});
    return {y, expected, flushed};
  }
  if (pass == ConvolutionPass::data_gradient) {
    const std::vector<double> expected = reference.data_gradient();
    const std::int64_t flushed = run(prepared, {&w, &y}, {&x});
    return {x, expected, flushed};
  }
  const std::vector<double> expected = reference.weight_gradient();
  const std::int64_t flushed = run(prepared, {&x, &y}, {&w});
  return {w, expected, flushed};
}

TEST(Dfp16, ConvolutionsMatchTheReferenceInEveryPass) {
  NG_NEEDS_VNNI();
  for (const ConvolutionCase& shape : convolutions())
    for (const ConvolutionPass pass : passes)
      for (const DType dtype : {DType::f16, DType::f32})
        for (const Layout layout : {Layout::channels_last, Layout::channel_slice}) {
          if (dtype == DType::f32 && layout == Layout::channel_slice) continue;
          const Convolved done = convolve(shape, pass, {dtype, layout});
          const std::string what = concat(shape.name, " pass ", static_cast<int>(pass), ' ', dtype);
          EXPECT_LE(relative_error(done.result.values(), done.expected),
                    dtype == DType::f16 ? 5e-4 : 2.5e-4)
              << what;
          EXPECT_TRUE(done.result.guards_intact()) << what;
        }
}

TEST(Dfp16, ConvolutionsGiveTheSameBitsForAnyNumberOfThreads) {
  NG_NEEDS_VNNI();
  for (const ConvolutionCase& shape : convolutions())
    for (const ConvolutionPass pass : passes) {
      const Array one = convolve(shape, pass, {.threads = 1}).result;
      for (const int threads : {2, 5})
        EXPECT_TRUE(one.same_bytes(convolve(shape, pass, {.threads = threads}).result))
            << shape.name << ' ' << static_cast<int>(pass);
    }
}

// Each pixel has its own scale: a pixel that is not finite reaches its windows and no other. A
// weight gradient has one for a channel: all that this channel takes part in is lost.
TEST(Dfp16, WhatIsNotFiniteReachesEveryOutputOfItsWindows) {
  NG_NEEDS_VNNI();
  for (const ConvolutionCase& shape : convolutions())
    for (const ConvolutionPass pass : passes)
      for (const double bad :
           {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        const Convolved done = convolve(shape, pass, {}, bad);
        for (std::int64_t i = 0; i < done.result.size(); ++i) {
          const bool finite = std::isfinite(done.expected[static_cast<std::size_t>(i)]);
          if (pass == ConvolutionPass::weight_gradient && finite) continue;
          ASSERT_EQ(std::isfinite(done.result.at(i)), finite)
              << shape.name << ' ' << static_cast<int>(pass) << ' ' << i;
        }
      }
}

TEST(Dfp16, ConvolutionsCountResultsThatBecomeZero) {
  NG_NEEDS_VNNI();
  // 9 columns: two segments of 5 that share one.
  const ConvolutionCase shape{"", 1, 16, 16, {3, 9}, {1, 3}, {}, {}, {0, 1}, {0, 1}};
  Array x(DType::f16, shape.x_dims(), Layout::channels_last), w(DType::f16, shape.w_dims());
  Array y(DType::f16, shape.y_dims(), Layout::channels_last);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, i / 27 == 0 ? 0x1p-20 : 0);
  for (std::int64_t i = 0; i < w.size(); ++i) w.set(i, 0x1p-20);
  const ConvolutionViews views{x.view(), w.view(), y.view(), {}};
  const auto prepared =
      prepare_dfp16_convolution(ConvolutionPass::forward, views, shape.window(), {});
  EXPECT_EQ(run(prepared, {&x, &w}, {&y}), 16 * 27);
}

// Pixels that agree perfectly with the weights, and dy with x.
TEST(Dfp16, NoSumOfAConvolutionOverflows) {
  NG_NEEDS_VNNI();
  const ConvolutionCase shape{"", 2, 256, 32, {28, 28}, {3, 3}, {}, {}, {1, 1}, {1, 1}};
  for (const ConvolutionPass pass : passes) {
    Array x(DType::f16, shape.x_dims(), Layout::channels_last), w(DType::f16, shape.w_dims());
    Array y(DType::f32, shape.y_dims(), Layout::channels_last), dw(DType::f32, shape.w_dims());
    Array dy(DType::f16, shape.y_dims(), Layout::channels_last);
    Array dx(DType::f32, shape.x_dims(), Layout::channels_last);
    for (Array* array : {&x, &w, &dy})
      for (std::int64_t i = 0; i < array->size(); ++i) array->set(i, 200);
    const auto prepare = [&](const View& xv, const View& wv, const View& yv) {
      return prepare_dfp16_convolution(pass, {xv, wv, yv, {}}, shape.window(), {});
    };
    Array* result = pass == ConvolutionPass::forward         ? &y
                    : pass == ConvolutionPass::data_gradient ? &dx
                                                             : &dw;
    if (pass == ConvolutionPass::forward)
      run(prepare(x.view(), w.view(), y.view()), {&x, &w}, {&y});
    else if (pass == ConvolutionPass::data_gradient)
      run(prepare(dx.view(), w.view(), dy.view()), {&w, &dy}, {&dx});
    else
      run(prepare(x.view(), dw.view(), dy.view()), {&x, &dy}, {&dw});
    for (std::int64_t i = 0; i < result->size(); ++i) ASSERT_GT(result->at(i), 0);
  }
}

TEST(Dfp16, TestsPassUnderEachCapOfTheInstructionSet) {
  expect_tests_pass_under_each_isa("Dfp16.*-*UnderEachCap*:*onvolution*:*Every*");
}

}  // namespace
}  // namespace narrowgauge::cpu
