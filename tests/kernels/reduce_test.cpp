// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/reduce/reduce.h"

#include <limits>

#include "base/threads/parallel.h"
#include "kernels/cpu/normalization/channel_grid.h"
#include "kernels/values_for_tests.h"

namespace narrowgauge::cpu::reduce_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Reduction reductions[] = {
    Reduction::sum,     Reduction::mean,       Reduction::maximum, Reduction::minimum,
    Reduction::product, Reduction::l1,         Reduction::l2,      Reduction::sum_square,
    Reduction::log_sum, Reduction::log_sum_exp};

double reduce_naively(Reduction reduction, const std::vector<double>& x) {
  double sum = 0, squares = 0, absolute = 0, product = 1, most = -infinity, least = infinity;
  bool nan = false;
  for (const double v : x) {
    sum += v;
    squares += v * v;
    absolute += std::abs(v);
    product *= v;
    most = std::max(most, v);
    least = std::min(least, v);
    nan = nan || std::isnan(v);
  }
  if (nan) return std::numeric_limits<double>::quiet_NaN();
  double exponentials = 0;
  if (std::isinf(most))
    exponentials = 1;  // the answer is that infinity
  else
    for (const double v : x) exponentials += std::exp(v - most);
  const double results[] = {sum,
                            sum / double(x.size()),
                            most,
                            least,
                            product,
                            absolute,
                            std::sqrt(squares),
                            squares,
                            std::log(sum),
                            x.empty() ? -infinity : most + std::log(exponentials)};
  return results[std::size_t(reduction)];
}

// Elements of x for each output, in the order of y's offsets.
std::vector<std::vector<double>> groups(const std::vector<ReduceAxis>& axes, const Tensor& x) {
  std::int64_t total = 1, outputs = 1;
  for (const ReduceAxis& axis : axes) {
    total *= axis.size;
    if (!axis.reduced) outputs *= axis.size;
  }
  std::vector<std::vector<double>> result(static_cast<std::size_t>(outputs));
  for (std::int64_t number = 0; number < total; ++number) {
    std::int64_t rest = number, from = 0, to = 0;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      from += rest % axis->size * axis->x_stride;
      if (!axis->reduced) to += rest % axis->size * axis->y_stride;
      rest /= axis->size;
    }
    result[std::size_t(to)].push_back(x.at(from));
  }
  return result;
}

void check(Reduction reduction, const std::vector<ReduceAxis>& axes, const Tensor& x,
           const std::string& what) {
  const auto parts = groups(axes, x);
  std::vector<double> expected;
  double most = 0;
  for (const auto& part : parts) {
    expected.push_back(reduce_naively(reduction, part));
    most = std::max(most, double(part.size()));
  }
  Tensor y(x.dtype(), {std::int64_t(parts.size())});
  const Reduce reduce(reduction, axes);
  auto space = workspace(reduce.workspace());
  reduce.run(view(x), view(y), space.data());
  expect_close(y, expected, 1e-6, 1e-12 * most, concat(what, " reduction ", int(reduction)));
}

// Row-major x and y; reduced[i] says whether axis i vanishes.
std::vector<ReduceAxis> dense_axes(const Dims& dims, const std::vector<bool>& reduced) {
  std::vector<ReduceAxis> axes(dims.size());
  std::int64_t x_stride = 1, y_stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    axes[i] = {dims[i], x_stride, reduced[i] ? 0 : y_stride, reduced[i]};
    x_stride *= dims[i];
    if (!reduced[i]) y_stride *= dims[i];
  }
  return axes;
}

// All but the channels: the gradient of a bias. `pitch` is that of x.
std::vector<ReduceAxis> channel_axes(const ChannelLayout& layout, std::int64_t pitch) {
  const std::int64_t block = layout.block;
  return {{layout.outer, pitch, 0, true},
          {layout.channels / block, layout.inner * block, block, false},
          {layout.inner, block, 0, true},
          {block, 1, 1, false}};
}

struct Case {
  Dims dims;
  std::vector<bool> reduced;
};

std::vector<Case> cases() {
  return {{{1}, {true}},
          {{}, {}},
          {{7}, {false}},
          {{17}, {true}},
          {{40001}, {true}},
          {{1000, 7}, {true, false}},
          {{1000, 7}, {false, true}},
          {{3, 1000}, {false, true}},
          {{90, 700}, {true, false}},
          {{5, 6, 49}, {true, false, true}},
          {{5, 60, 7}, {true, false, true}},
          {{5, 6, 1000}, {true, false, true}},
          {{5, 6, 700}, {false, true, false}},
          {{9, 17, 3}, {false, true, false}},
          {{2, 3, 4, 5, 6}, {true, false, true, false, true}},
          {{2, 3, 4, 5, 6}, {false, true, false, true, false}},
          {{20, 16, 300}, {true, true, false}},
          {{4, 0, 3}, {false, true, false}},
          {{0, 3}, {true, true}},
          {{0, 3}, {false, true}}};
}

TEST(reduce, agrees_with_double_loops) {
  for (const Case& one : cases())
    for (const DType dtype : storage_dtypes)
      for (const Reduction reduction : reductions) {
        const std::int64_t count = element_count(one.dims);
        const double center = reduction == Reduction::product ? 1.0 : 0.5;
        const double deviation = reduction == Reduction::product   ? 1e-3
                                 : reduction == Reduction::log_sum ? 0.1
                                                                   : 2;
        const Tensor x = random_tensor(dtype, count, 1, center, deviation);
        if (dtype == DType::f16 && reduction == Reduction::sum_square && count > 60000) continue;
        check(reduction, dense_axes(one.dims, one.reduced), x, concat(dtype, " ", one.dims));
      }
}

TEST(reduce, follows_any_strides) {
  const Tensor x = random_tensor(DType::f32, 6000, 1);
  const std::vector<std::vector<ReduceAxis>> strided = {
      {{10, 1, 0, true}, {20, 10, 1, false}, {30, 200, 20, false}},  // transposed
      {{30, 200, 1, false}, {20, 10, 30, false}, {10, 1, 0, true}},  // y transposed
      {{10, 2, 0, true}, {20, 40, 1, false}},                        // every second element
      {{50, 0, 0, true}, {20, 3, 1, false}},                         // repeated
      {{7, 600, 0, true}, {5, 100, 1, false}, {8, 10, 5, false}, {3, 1, 0, true}}};
  for (const auto& axes : strided)
    for (const Reduction reduction : {Reduction::sum, Reduction::maximum, Reduction::log_sum_exp})
      check(reduction, axes, x, "strided");
}

TEST(reduce, sums_channels_of_every_layout) {
  for (const DType dtype : storage_dtypes)
    for (const ChannelLayout& layout :
         {ChannelLayout{3, 5, 1000}, ChannelLayout{4, 20, 49}, ChannelLayout{5000, 16, 1},
          ChannelLayout{70, 1000, 1}, ChannelLayout{3, 48, 30, 16}, ChannelLayout{9, 3, 1}})
      for (const std::int64_t margin : {0, 5}) {
        const std::int64_t pitch = layout.slice() + margin;
        const Tensor x = random_tensor(dtype, layout.outer * pitch, 1, 0.1);
        check(Reduction::sum, channel_axes(layout, pitch), x, "channels");
      }
}

TEST(reduce, cancellation_and_large_counts_keep_their_digits) {
  Tensor x = Tensor::full(DType::f32, {3000000}, 0.1);
  x.set(0, 1e8);
  x.set(2999999, -1e8);
  check(Reduction::sum, dense_axes(Dims{3000000}, {true}), x, "sum");
  const Tensor large = Tensor::full(DType::f32, {100}, 1e30);
  check(Reduction::l2, dense_axes(Dims{100}, {true}), large, "l2");
}

TEST(reduce, nan_and_infinity_propagate) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Case& one : {Case{{3, 1000}, {false, true}}, Case{{1000, 3}, {true, false}},
                          Case{{5, 3, 9}, {true, false, true}}})
    for (const Reduction reduction : reductions)
      for (const double bad : {nan, infinity, -infinity}) {
        if (reduction == Reduction::log_sum) continue;
        for (const std::int64_t at : {0, 70, 134}) {
          Tensor x = random_tensor(DType::bf16, element_count(one.dims), 1, 1, 0.1);
          x.set(at, bad);
          check(reduction, dense_axes(one.dims, one.reduced), x, concat(one.dims, " ", bad));
        }
      }
}

TEST(reduce, bits_do_not_depend_on_the_number_of_threads) {
  for (const Case& one : {Case{{1000000}, {true}}, Case{{3000, 700}, {true, false}},
                          Case{{30, 40, 900}, {true, false, true}}}) {
    std::vector<Tensor> results;
    for (const int threads : {1, 2}) {
      const ThreadScope scope(threads);
      const Tensor x = random_tensor(DType::f32, element_count(one.dims), 1);
      const Reduce reduce(Reduction::log_sum_exp, dense_axes(one.dims, one.reduced));
      Tensor y(DType::f32, {1000});
      auto space = workspace(reduce.workspace());
      reduce.run(view(x), view(y), space.data());
      results.push_back(y);
    }
    EXPECT_TRUE(results[0].same_bits(results[1]));
  }
}

}  // namespace
}  // namespace narrowgauge::cpu::reduce_test
