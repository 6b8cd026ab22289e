// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "kernels/array.h"
#include "kernels/convolution_case.h"
#include "kernels/cpu/pairs/pair_products.h"
#include "kernels/each_isa.h"
#include "kernels/pair_ways.h"

namespace narrowgauge::cpu::pair_convolution_test {
namespace {

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
      {"1x1, rows that are joined", 3, 16, 24, {24, 16}, {1, 1}},
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
  GuardedArray result;
  std::vector<double> expected;
  std::int64_t flushed;
};

struct Setting {
  Way way{PairFormat::dfp16, DType::f16};
  Layout layout = Layout::channels_last;
  int threads = 2;
};

// `bad`: set in the middle of the input that is no weight.
Convolved convolve(const ConvolutionCase& shape, ConvolutionPass pass, const Setting& setting,
                   std::optional<double> bad = {}) {
  const DType dtype = setting.way.dtype;
  GuardedArray x(dtype, shape.x_dims(), setting.layout), w(dtype, shape.w_dims());
  GuardedArray y(dtype, shape.y_dims(), setting.layout), bias(dtype, {shape.outputs});
  x.randomize(1), w.randomize(2, 0.1), y.randomize(3), bias.randomize(4);
  if (bad) {
    GuardedArray& in = pass == ConvolutionPass::data_gradient ? y : x;
    in.set(in.size() / 2, *bad);
  }
  ConvolutionViews views{x.view(), w.view(), y.view(), {}};
  const bool has_bias = shape.bias && pass == ConvolutionPass::forward;
  if (has_bias) views.bias = bias.view();
  const Prepared prepared = prepare_pair_convolution(setting.way.format, pass, views,
                                                     shape.window(), {.threads = setting.threads});
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

TEST(pair_convolution, matches_the_reference_in_every_pass) {
  NG_NEEDS_VNNI();
  for (const ConvolutionCase& shape : convolutions())
    for (const ConvolutionPass pass : passes)
      for (const Way& way : ways())
        for (const Layout layout : {Layout::channels_last, Layout::channel_slice}) {
          if (way.dtype == DType::f32 && layout == Layout::channel_slice) continue;
          const Convolved done = convolve(shape, pass, {way, layout});
          const std::string what =
              concat(text(way), ' ', shape.name, " pass ", static_cast<int>(pass));
          EXPECT_LE(relative_error(done.result.values(), done.expected),
                    way.dtype == DType::f32 ? 2.5e-4 : most_error(way, way.dtype))
              << what;
          EXPECT_TRUE(done.result.guards_intact()) << what;
        }
}

TEST(pair_convolution, gives_the_same_bits_for_any_number_of_threads) {
  NG_NEEDS_VNNI();
  for (const Way& way : ways())
    for (const ConvolutionCase& shape : convolutions())
      for (const ConvolutionPass pass : passes) {
        const GuardedArray one = convolve(shape, pass, {.way = way, .threads = 1}).result;
        for (const int threads : {2, 5})
          EXPECT_TRUE(
              one.same_bytes(convolve(shape, pass, {.way = way, .threads = threads}).result))
              << text(way) << ' ' << shape.name << ' ' << static_cast<int>(pass);
      }
}

// In dfp16 each pixel has its own scale: a pixel that is not finite reaches its windows and no
// other. A weight gradient has one for a channel: all that this channel takes part in is lost.
TEST(pair_convolution, what_is_not_finite_reaches_every_output_of_its_windows) {
  NG_NEEDS_VNNI();
  for (const Way& way : ways())
    for (const ConvolutionCase& shape : convolutions())
      for (const ConvolutionPass pass : passes)
        for (const double bad :
             {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
          if (way.dtype == DType::f32) continue;
          const Convolved done = convolve(shape, pass, {.way = way}, bad);
          for (std::int64_t i = 0; i < done.result.size(); ++i) {
            const bool finite = std::isfinite(done.expected[static_cast<std::size_t>(i)]);
            const bool scaled = way.format == PairFormat::dfp16;
            if (scaled && pass == ConvolutionPass::weight_gradient && finite) continue;
            ASSERT_EQ(std::isfinite(done.result.at(i)), finite)
                << text(way) << ' ' << shape.name << ' ' << static_cast<int>(pass) << ' ' << i;
          }
        }
}

TEST(pair_convolution, counts_results_that_become_zero) {
  NG_NEEDS_VNNI();
  // 9 columns: two segments of 5 that share one.
  const ConvolutionCase shape{"", 1, 16, 16, {3, 9}, {1, 3}, {}, {}, {0, 1}, {0, 1}};
  GuardedArray x(DType::f16, shape.x_dims(), Layout::channels_last), w(DType::f16, shape.w_dims());
  GuardedArray y(DType::f16, shape.y_dims(), Layout::channels_last);
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, i / 27 == 0 ? 0x1p-20 : 0);
  for (std::int64_t i = 0; i < w.size(); ++i) w.set(i, 0x1p-20);
  const ConvolutionViews views{x.view(), w.view(), y.view(), {}};
  const auto prepared = prepare_pair_convolution(PairFormat::dfp16, ConvolutionPass::forward, views,
                                                 shape.window(), {});
  EXPECT_EQ(run(prepared, {&x, &w}, {&y}), 16 * 27);
}

// Pixels that agree perfectly with the weights, and dy with x.
TEST(pair_convolution, no_sum_overflows) {
  NG_NEEDS_VNNI();
  const ConvolutionCase shape{"", 2, 256, 32, {28, 28}, {3, 3}, {}, {}, {1, 1}, {1, 1}};
  for (const ConvolutionPass pass : passes) {
    GuardedArray x(DType::f16, shape.x_dims(), Layout::channels_last),
        w(DType::f16, shape.w_dims());
    GuardedArray y(DType::f32, shape.y_dims(), Layout::channels_last),
        dw(DType::f32, shape.w_dims());
    GuardedArray dy(DType::f16, shape.y_dims(), Layout::channels_last);
    GuardedArray dx(DType::f32, shape.x_dims(), Layout::channels_last);
    for (GuardedArray* array : {&x, &w, &dy})
      for (std::int64_t i = 0; i < array->size(); ++i) array->set(i, 200);
    const auto prepare = [&](const View& xv, const View& wv, const View& yv) {
      return prepare_pair_convolution(PairFormat::dfp16, pass, {xv, wv, yv, {}}, shape.window(),
                                      {});
    };
    GuardedArray* result = pass == ConvolutionPass::forward         ? &y
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

TEST(pair_convolution, tests_pass_under_each_cap_of_the_instruction_set) {
  expect_tests_pass_under_each_isa("pair_convolution.matches_the_reference*");
}

}  // namespace
}  // namespace narrowgauge::cpu::pair_convolution_test
