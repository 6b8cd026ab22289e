// SPDX-License-Identifier: Apache-2.0
// Averages of bytes against sums of whole numbers in double, and all kernels against the reference.
#include "ops/quantized/quantized_average_pool.h"

#include <gtest/gtest.h>

#include <random>

#include "ops/nn/average_pool.h"
#include "ops/sample_run.h"

namespace narrowgauge::quantized_average_pool_test {
namespace {

Tensor bytes(DType dtype, Dims dims, unsigned seed) {
  Tensor tensor(dtype, std::move(dims));
  std::mt19937 random(seed);
  const int least = dtype == DType::i8 ? -128 : 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, least + static_cast<int>(random() % 256));
  return tensor;
}

Tensor single(DType dtype, double value) { return Tensor::full(dtype, {}, value); }

// The numbers that bytes are, without their scale, which is a power of two.
Tensor wide(const Tensor& x, double zero) {
  Tensor made(DType::f64, x.dims());
  for (std::int64_t i = 0; i < x.size(); ++i) made.set(i, x.at(i) - zero);
  return made;
}

// Means in f64 of the numbers that bytes stand for, by the op for floats.
Tensor means(const QuantizedAveragePool& op, const Tensor& x, double zero) {
  const Tensor numbers = wide(x, zero);
  if (op.kernel_shape.empty())
    return run_kernel(GlobalAveragePool{}, {numbers}, {.reference = true}).outputs[0];
  const AveragePool pool{op.auto_pad,  op.ceil_mode,    op.count_include_pad,
                         op.dilations, op.kernel_shape, op.pads,
                         op.strides};
  return run_kernel(pool, {numbers}, {.reference = true}).outputs[0];
}

struct Case {
  std::string name;
  QuantizedAveragePool op;
  Dims x;
};

const Case cases[] = {
    {"as in inception", {.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}}, {2, 83, 6, 7}},
    {"pads counted",
     {.count_include_pad = 1, .kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}, .strides = {2, 2}},
     {1, 64, 7, 6}},
    {"beyond the pads",
     {.ceil_mode = 1,
      .count_include_pad = 1,
      .kernel_shape = {3, 2},
      .pads = {1, 1, 0, 1},
      .strides = {2, 3}},
     {1, 17, 6, 6}},
    {"dilated", {.dilations = {2, 3}, .kernel_shape = {3, 2}, .pads = {2, 0, 0, 1}}, {1, 32, 8, 7}},
    {"sums beyond 16 bits", {}, {2, 130, 17, 19}},
    {"one axis", {.kernel_shape = {4}, .strides = {3}}, {3, 20, 14}},
    {"three axes", {.kernel_shape = {2, 1, 3}, .strides = {1, 2, 2}}, {1, 48, 3, 4, 5}},
};

constexpr double scale = 0.25, zero = 5, step = 0.5;  // powers of two: no product is rounded

void expect_means(const Case& c, DType from, const KernelRun& how) {
  const Tensor x = bytes(from, c.x, 3);
  const KernelResult got = run_kernel(
      c.op, {x, single(DType::f32, scale), single(from, zero), std::nullopt, std::nullopt}, how);
  const Tensor expected = means(c.op, x, zero);
  ASSERT_EQ(got.outputs[0].dtype(), DType::f32) << c.name;
  ASSERT_EQ(got.outputs[0].dims(), expected.dims()) << c.name;
  for (std::int64_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(got.outputs[0].at(i), expected.at(i) * scale, 1e-5) << c.name << ' ' << i;
}

// Means whose fraction is almost a half may be rounded either way.
void expect_bytes(const Case& c, DType from, DType to, const KernelRun& how) {
  const Tensor x = bytes(from, c.x, 4);
  const double y_zero = to == DType::i8 ? -60 : 90, least = to == DType::i8 ? -128 : 0;
  const KernelResult got = run_kernel(c.op,
                                      {x, single(DType::f32, scale), single(from, zero),
                                       single(DType::f32, step), single(to, y_zero)},
                                      how);
  const Tensor expected = means(c.op, x, zero);
  ASSERT_EQ(got.outputs[0].dtype(), to) << c.name;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double exact = expected.at(i) * scale / step + y_zero;
    const double within = std::clamp(exact, least, least + 255);
    ASSERT_LE(std::abs(got.outputs[0].at(i) - within), 0.5 + 1e-4) << c.name << ' ' << i;
  }
}

TEST(quantized_average_pool, is_the_mean_of_whole_numbers) {
  for (const Case& c : cases)
    for (const DType from : {DType::u8, DType::i8})
      for (const bool channels_last : {true, false})
        for (const bool reference : {true, false}) {
          const KernelRun how{.reference = reference, .channels_last = channels_last};
          expect_means(c, from, how);
          for (const DType to : {DType::u8, DType::i8}) expect_bytes(c, from, to, how);
        }
}

TEST(quantized_average_pool, rounds_halves_to_even_and_saturates) {
  const Tensor x = Tensor::from<std::uint8_t>({1, 1, 10}, {1, 0, 1, 2, 2, 3, 255, 255, 0, 0});
  const QuantizedAveragePool op{.kernel_shape = {2}, .strides = {2}};
  const auto averaged = [&](float y_scale, int y_zero) {
    return values_of(run_kernel(op, {x, single(DType::f32, 1), single(DType::u8, 0),
                                     single(DType::f32, y_scale), single(DType::u8, y_zero)})
                         .outputs[0]);
  };
  EXPECT_EQ(averaged(1, 0), (std::vector<double>{0, 2, 2, 255, 0}));
  EXPECT_EQ(averaged(0.5F, 3), (std::vector<double>{4, 6, 8, 255, 3}));
  EXPECT_EQ(averaged(1e-30F, 7), (std::vector<double>{255, 255, 255, 255, 7}));
}

TEST(quantized_average_pool, kernels_give_the_bits_of_the_reference) {
  for (const bool channels_last : {false, true})
    for (const std::int64_t wider : {0, 3})
      EXPECT_EQ(
          expect_kernel_matches_reference<QuantizedAveragePool>(
              DType::f32, {.kernel = "bytes", .channels_last = channels_last, .wider = wider}),
          static_cast<int>(samples_of<QuantizedAveragePool>().size()));
}

TEST(quantized_average_pool, refuses_a_scale_without_a_zero_point_and_many_scales) {
  const Tensor x = bytes(DType::u8, {1, 2, 4, 4}, 1);
  const Tensor one = single(DType::f32, 1), two = Tensor::full(DType::f32, {2}, 1);
  EXPECT_THROW(run_kernel(QuantizedAveragePool{}, {x, one, std::nullopt, one, std::nullopt}),
               UsageError);
  EXPECT_THROW(run_kernel(QuantizedAveragePool{}, {x, two, std::nullopt}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::quantized_average_pool_test
