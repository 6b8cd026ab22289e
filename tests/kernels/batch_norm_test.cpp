// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/normalization/batch_norm.h"

#include <limits>

#include "base/threads/parallel.h"
#include "kernels/values_for_tests.h"

namespace narrowgauge::cpu::batch_norm_test {
namespace {

constexpr float epsilon = 1e-5F;

std::size_t place(const ChannelLayout& layout, std::int64_t o, std::int64_t c, std::int64_t i) {
  const std::int64_t block = c / layout.block;
  return std::size_t(o * layout.slice() + (block * layout.inner + i) * layout.block +
                     c % layout.block);
}

template <class Body>
void for_channel(const ChannelLayout& layout, std::int64_t c, const Body& body) {
  for (std::int64_t o = 0; o < layout.outer; ++o)
    for (std::int64_t i = 0; i < layout.inner; ++i) body(place(layout, o, c, i));
}

std::string describe(const ChannelLayout& l, DType dtype) {
  return concat(dtype, " ", l.outer, "x", l.channels, "x", l.inner, " block ", l.block);
}

std::vector<ChannelLayout> layouts() {
  return {{1, 1, 1},        {4, 1, 1},        {1000, 1, 1},   {2, 3, 7},     {3, 5, 49},
          {2, 3, 1000},     {1, 2, 1},        {17, 7, 16},    {2, 4, 784},   {9, 600, 1},
          {1000, 17, 1},    {300, 256, 1},    {40, 1040, 1},  {5, 70, 17},   {2, 32, 49, 16},
          {3, 16, 7, 16},   {2, 16, 100, 16}, {64, 16, 1024}, {2, 1, 70000}, {3, 64, 32, 32},
          {150, 96, 32, 32}};
}

struct Problem {
  ChannelLayout layout;
  DType dtype;
  Tensor x, y, scale, bias, mean, variance, inverse_std;
  std::vector<std::uint64_t> space;

  Problem(const ChannelLayout& l, DType d, double center = 0.5, double deviation = 2)
      : layout(l),
        dtype(d),
        x(random_tensor(d, l.size(), 1, center, deviation)),
        y(d, {l.size()}),
        scale(random_tensor(DType::f32, l.channels, 2, 1, 0.2)),
        bias(random_tensor(DType::f32, l.channels, 3)),
        mean(DType::f32, {l.channels}),
        variance(DType::f32, {l.channels}),
        inverse_std(DType::f32, {l.channels}),
        space(workspace(batch_norm_workspace(l))) {}

  BatchStatistics statistics() {
    return {floats(mean), floats(variance), floats(inverse_std), nullptr};
  }
  BatchNormApply norm() {
    return {.layout = layout,
            .x = view(std::as_const(x)),
            .y = view(y),
            .scale = floats(scale),
            .bias = floats(bias)};
  }
  void train() { batch_norm_train(norm(), epsilon, statistics(), space.data()); }
};

struct Reference {
  std::vector<double> mean, variance, inverse_std, y;
};

Reference reference(const Problem& p) {
  const std::vector<double> x = doubles(p.x);
  Reference r{{}, {}, {}, std::vector<double>(x.size())};
  for (std::int64_t c = 0; c < p.layout.channels; ++c) {
    double mean = 0, variance = 0;
    const auto count = double(p.layout.per_channel());
    for_channel(p.layout, c, [&](std::size_t at) { mean += x[at] / count; });
    for_channel(p.layout, c,
                [&](std::size_t at) { variance += (x[at] - mean) * (x[at] - mean) / count; });
    r.mean.push_back(mean);
    r.variance.push_back(variance);
    r.inverse_std.push_back(1 / std::sqrt(variance + double(epsilon)));
    for_channel(p.layout, c, [&](std::size_t at) {
      r.y[at] = (x[at] - mean) * r.inverse_std.back() * p.scale.at(c) + p.bias.at(c);
    });
  }
  return r;
}

TEST(batch_norm, training_forward_agrees_with_double_loops) {
  for (const ChannelLayout& layout : layouts())
    for (const DType dtype : storage_dtypes) {
      Problem p(layout, dtype);
      p.train();
      const Reference r = reference(p);
      const std::string what = describe(layout, dtype);
      expect_close(p.mean, r.mean, 1e-6, 1e-6, what + " mean");
      expect_close(p.variance, r.variance, 2e-6, 0, what + " variance");
      expect_close(p.inverse_std, r.inverse_std, 2e-6, 0, what + " inverse std");
      expect_close(p.y, r.y, 2e-6, 4e-6, what + " y");
    }
}

TEST(batch_norm, keeps_digits_where_the_mean_is_a_million_deviations) {
  for (const ChannelLayout& layout :
       {ChannelLayout{8, 3, 1000}, ChannelLayout{3000, 20, 1}, ChannelLayout{4, 32, 50, 16}}) {
    Problem p(layout, DType::f32, 1e4, 1e-2);
    p.train();
    const Reference r = reference(p);
    expect_close(p.mean, r.mean, 1e-7, 0, "mean");
    expect_close(p.variance, r.variance, 1e-5, 0, "variance");
    expect_close(p.y, r.y, 1e-5, 1e-5, "y");
  }
}

TEST(batch_norm, reads_and_writes_channel_slices_of_wider_buffers) {
  const ChannelLayout layout{100, 24, 1};
  const std::int64_t wide = 40, first = 8;
  Problem p(layout, DType::bf16);
  p.train();
  Tensor wide_x = Tensor::full(DType::bf16, {100 * wide}, 77), wide_y = wide_x.clone();
  for (std::int64_t o = 0; o < 100; ++o)
    for (std::int64_t c = 0; c < 24; ++c) wide_x.set(o * wide + first + c, p.x.at(o * 24 + c));
  BatchNormApply norm = p.norm();
  norm.x = {wide_x.data() + 2 * first, DType::bf16, wide};
  norm.y = {wide_y.data() + 2 * first, DType::bf16, wide};
  batch_norm_train(norm, epsilon, p.statistics(), p.space.data());
  for (std::int64_t o = 0; o < 100; ++o)
    for (std::int64_t c = 0; c < wide; ++c) {
      const bool inside = c >= first && c < first + 24;
      const double expected = inside ? p.y.at(o * 24 + c - first) : 77;
      ASSERT_NEAR(wide_y.at(o * wide + c), expected, std::abs(expected) * 0x1p-7);
    }
}

TEST(batch_norm, inference_uses_the_given_statistics) {
  for (const ChannelLayout& layout : layouts()) {
    Problem p(layout, DType::f32);
    const Tensor mean = random_tensor(DType::f32, layout.channels, 8);
    Tensor variance = random_tensor(DType::f32, layout.channels, 9);
    for (float& v : variance.values<float>()) v *= v;
    BatchNormApply norm = p.norm();
    norm.mean = floats(mean);
    batch_norm_infer(norm, floats(variance), epsilon, p.space.data());
    std::vector<double> expected(std::size_t(layout.size()));
    for (std::int64_t c = 0; c < layout.channels; ++c)
      for_channel(layout, c, [&](std::size_t at) {
        expected[at] = (p.x.at(std::int64_t(at)) - mean.at(c)) /
                           std::sqrt(variance.at(c) + double(epsilon)) * p.scale.at(c) +
                       p.bias.at(c);
      });
    expect_close(p.y, expected, 1e-6, 1e-5, describe(layout, DType::f32));
  }
}

TEST(batch_norm, running_statistics_follow_onnx) {
  const Tensor batch_mean = random_tensor(DType::f32, 5, 1), batch_variance = batch_mean;
  Tensor mean = random_tensor(DType::f32, 5, 2), variance = random_tensor(DType::f32, 5, 3);
  const std::vector<double> before = doubles(mean);
  update_running_statistics({5, 0.9F, floats(batch_mean), floats(batch_variance), floats(mean),
                             floats(variance), floats(mean), floats(variance)});
  std::vector<double> expected;
  for (std::size_t c = 0; c < 5; ++c)
    expected.push_back(0.9 * before[c] + 0.1 * batch_mean.at(std::int64_t(c)));
  expect_close(mean, expected, 1e-6, 1e-7);
}

TEST(batch_norm, the_running_variance_takes_a_factor_and_the_mean_does_not) {
  const Tensor batch = random_tensor(DType::f32, 5, 1);
  Tensor mean = random_tensor(DType::f32, 5, 2), variance = random_tensor(DType::f32, 5, 2);
  const std::vector<double> before = doubles(mean);
  update_running_statistics({5, 0.9F, floats(batch), floats(batch), floats(mean), floats(variance),
                             floats(mean), floats(variance), 1.25F});
  std::vector<double> means, variances;
  for (std::size_t c = 0; c < 5; ++c) {
    means.push_back(0.9 * before[c] + 0.1 * batch.at(std::int64_t(c)));
    variances.push_back(0.9 * before[c] + 0.125 * batch.at(std::int64_t(c)));
  }
  expect_close(mean, means, 1e-6, 1e-7);
  expect_close(variance, variances, 1e-6, 1e-7);
}

struct Gradients {
  Tensor dy, dx, scale_gradient, bias_gradient;
  explicit Gradients(const Problem& p)
      : dy(random_tensor(p.dtype, p.layout.size(), 11, 0.1)),
        dx(p.dtype, {p.layout.size()}),
        scale_gradient(DType::f32, {p.layout.channels}),
        bias_gradient(DType::f32, {p.layout.channels}) {}

  BatchNormBackward backward(Problem& p) {
    return {.layout = p.layout,
            .dy = view(std::as_const(dy)),
            .x = view(std::as_const(p.x)),
            .scale = floats(p.scale),
            .mean = floats(p.mean),
            .inverse_std = floats(p.inverse_std),
            .dx = view(dx),
            .scale_gradient = floats(scale_gradient),
            .bias_gradient = floats(bias_gradient)};
  }
};

// The mean of a channel of x: p.mean rounds it.
double exact_mean(const Problem& p, const std::vector<double>& x, std::int64_t c) {
  double sum = 0;
  for_channel(p.layout, c, [&](std::size_t at) { sum += x[at]; });
  return sum / double(p.layout.per_channel());
}

void check_gradients(const Problem& p, const Gradients& g) {
  const std::string what = describe(p.layout, p.dtype);
  std::vector<double> dy = doubles(g.dy), dx(dy.size()), scale_gradient, bias_gradient;
  const std::vector<double> x = doubles(p.x);
  const double count = double(p.layout.per_channel());
  for (std::int64_t c = 0; c < p.layout.channels; ++c) {
    const double mean = exact_mean(p, x, c), inverse = p.inverse_std.at(c), scale = p.scale.at(c);
    double dy_sum = 0, product_sum = 0;
    for_channel(p.layout, c, [&](std::size_t at) {
      dy_sum += dy[at];
      product_sum += dy[at] * (x[at] - mean) * inverse;
    });
    for_channel(p.layout, c, [&](std::size_t at) {
      const double normal = (x[at] - mean) * inverse;
      dx[at] = scale * inverse * (dy[at] - dy_sum / count - normal * product_sum / count);
    });
    bias_gradient.push_back(dy_sum);
    scale_gradient.push_back(product_sum);
  }
  const double slack = 1e-6 * std::sqrt(count);
  expect_close(g.bias_gradient, bias_gradient, 1e-6, slack, what + " bias gradient");
  expect_close(g.scale_gradient, scale_gradient, 1e-6, slack, what + " scale gradient");
  // inverse std reaches 1 / sqrt(epsilon) where a channel has one element
  expect_close(g.dx, dx, 3e-6, count < 8 ? 1e-3 : 3e-6, what + " dx");
}

TEST(batch_norm, backward_agrees_with_double_loops) {
  for (const ChannelLayout& layout : layouts())
    for (const DType dtype : storage_dtypes) {
      Problem p(layout, dtype);
      p.train();
      Gradients g(p);
      batch_norm_backward(g.backward(p), p.space.data());
      check_gradients(p, g);
    }
}

TEST(batch_norm, backward_keeps_digits_where_the_mean_is_far_larger_than_the_spread) {
  for (const ChannelLayout& layout :
       {ChannelLayout{100, 1, 1000}, ChannelLayout{3000, 20, 1}, ChannelLayout{4, 32, 50, 16}}) {
    Problem p(layout, DType::f32, 1e4, 0.1);
    p.train();
    Gradients g(p);
    for (std::int64_t i = 0; i < g.dy.size(); ++i) g.dy.set(i, g.dy.at(i) + 1);
    batch_norm_backward(g.backward(p), p.space.data());
    check_gradients(p, g);
  }
}

TEST(batch_norm, backward_takes_a_given_mean_as_it_stands) {
  const ChannelLayout layout{30, 4, 20};
  Problem p(layout, DType::f32);
  p.train();
  for (float& mean : p.mean.values<float>()) mean += 1;
  Gradients g(p);
  BatchNormBackward norm = g.backward(p);
  norm.is_batch_mean = false;
  batch_norm_backward(norm, p.space.data());
  std::vector<double> expected(4);
  for (std::int64_t c = 0; c < 4; ++c)
    for_channel(layout, c, [&](std::size_t at) {
      const auto i = std::int64_t(at);
      expected[std::size_t(c)] += g.dy.at(i) * (p.x.at(i) - p.mean.at(c)) * p.inverse_std.at(c);
    });
  expect_close(g.scale_gradient, expected, 1e-5, 1e-5);
}

TEST(batch_norm, a_nan_stays_in_its_channel) {
  const ChannelLayout layout{40, 6, 30};
  Problem p(layout, DType::f16);
  p.x.set(std::int64_t(place(layout, 3, 2, 5)), std::numeric_limits<double>::quiet_NaN());
  p.train();
  for (std::int64_t c = 0; c < 6; ++c) {
    EXPECT_EQ(std::isnan(p.mean.at(c)), c == 2);
    for_channel(layout, c, [&](std::size_t at) {
      ASSERT_EQ(std::isnan(p.y.at(std::int64_t(at))), c == 2) << c;
    });
  }
}

TEST(batch_norm, bits_do_not_depend_on_the_number_of_threads) {
  for (const ChannelLayout& layout :
       {ChannelLayout{32, 7, 1024}, ChannelLayout{20000, 40, 1}, ChannelLayout{6, 64, 300, 16}}) {
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 4}) {
      const ThreadScope scope(threads);
      Problem p(layout, DType::bf16);
      p.train();
      Gradients g(p);
      batch_norm_backward(g.backward(p), p.space.data());
      const std::vector<Tensor> all{p.mean, p.variance,       p.y,
                                    g.dx,   g.scale_gradient, g.bias_gradient};
      if (first.empty()) first = all;
      for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(first[i].same_bits(all[i])) << i;
    }
  }
}

}  // namespace
}  // namespace narrowgauge::cpu::batch_norm_test
