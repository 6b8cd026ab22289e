// SPDX-License-Identifier: Apache-2.0
// Contractions in TF32 and in three products of it, against sums in double of operands that are
// rounded here, by another formula; and the switch that forbids TF32.
#include "narrowgauge/tf32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/parallel.h"
#include "narrowgauge/npz.h"
#include "ops/math/gemm.h"
#include "ops/math/matmul.h"
#include "ops/nn/conv.h"
#include "ops/sample_run.h"

namespace narrowgauge::tf32_test {
namespace {

// 11 significant bits, nearest even, in double.
double to_11_bits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

Tensor rounded(const Tensor& tensor) {
  Tensor result(DType::f64, tensor.dims());
  for (std::int64_t i = 0; i < tensor.size(); ++i) result.set(i, to_11_bits(tensor.at(i)));
  return result;
}

using Inputs = std::vector<std::optional<Tensor>>;

// The first two operands rounded or not, the third as it is, in f64.
Inputs in_double(const Inputs& inputs, bool round) {
  Inputs wide;
  for (const auto& input : inputs) {
    if (!input)
      wide.emplace_back();
    else
      wide.push_back(round && wide.size() < 2 ? rounded(*input) : input->cast(DType::f64));
  }
  return wide;
}

double worst(const Tensor& got, const Tensor& expected) {
  double largest = 1e-30, error = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected.at(i)));
    error = std::max(error, std::abs(got.at(i) - expected.at(i)));
  }
  return error / largest;
}

// Of all samples, channels first, last, and as slices of wider buffers: the largest differences
// from exact sums of rounded operands, and of operands as they are.
template <class T>
std::pair<double, double> errors(Math math) {
  const OpRecord& op = record_of<T>();
  std::pair<double, double> error;
  for (const ErasedSample& sample : samples_of(op))
    for (const auto& [last, wider] : {std::pair{false, 0}, {true, 0}, {true, 3}}) {
      const Inputs inputs = draw(sample, DType::f32);
      const KernelResult got =
          run_kernel(op, sample.attributes, inputs,
                     {.channels_last = last, .wider = wider, .deterministic = false, .math = math});
      const auto exact = [&](bool round) {
        return run_kernel(op, sample.attributes, in_double(inputs, round), {.reference = true});
      };
      EXPECT_TRUE(got.implementation.find("tf32") != std::string::npos) << got.implementation;
      error.first = std::max(error.first, worst(got.outputs[0], exact(true).outputs[0]));
      error.second = std::max(error.second, worst(got.outputs[0], exact(false).outputs[0]));
    }
  return error;
}

template <class T>
void expect_rounds_once() {
  const auto [rounded, exact] = errors<T>(Math::tf32);
  EXPECT_LT(rounded, 2e-6) << T::info.name;
  EXPECT_GT(exact, 5e-5) << T::info.name;
}

TEST(tf32, rounds_operands_to_11_bits_and_nothing_else) {
  expect_rounds_once<MatMul>();
  expect_rounds_once<FusedMatMul>();
  expect_rounds_once<Gemm>();
  expect_rounds_once<Conv>();
  expect_rounds_once<ConvDataGradient>();
  expect_rounds_once<ConvWeightGradient>();
}

template <class T>
void expect_f32_accuracy() {
  const auto [rounded, exact] = errors<T>(Math::tf32x3);
  EXPECT_LT(exact, 2e-6) << T::info.name;
  EXPECT_GT(rounded, 5e-5) << T::info.name;
}

TEST(tf32x3, three_products_of_tf32_have_the_accuracy_of_f32) {
  expect_f32_accuracy<MatMul>();
  expect_f32_accuracy<FusedMatMul>();
  expect_f32_accuracy<Gemm>();
  expect_f32_accuracy<Conv>();
  expect_f32_accuracy<ConvDataGradient>();
  expect_f32_accuracy<ConvWeightGradient>();
}

Tensor row(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::from<float>({1, count}, values);
}
Tensor column(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::from<float>({count, 1}, values);
}

double dot(Math math, const Tensor& a, const Tensor& b) {
  return run_kernel(MatMul{}, {a, b}, {.math = math}).outputs[0].at(0);
}

TEST(tf32, ties_go_to_even_and_what_is_no_number_stays_none) {
  const float tie = 1 + 0x1p-11F, above = 1 + 0x1p-11F + 0x1p-23F, odd = 1 + 3 * 0x1p-11F;
  EXPECT_EQ(dot(Math::tf32, row({tie}), column({1})), 1);
  EXPECT_EQ(dot(Math::tf32, row({above}), column({1})), 1 + 0x1p-10);
  EXPECT_EQ(dot(Math::tf32, row({odd}), column({1})), 1 + 0x1p-9);
  EXPECT_EQ(dot(Math::tf32, row({-tie}), column({above})), -1 - 0x1p-10);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float largest = std::numeric_limits<float>::max();
  for (const Math math : {Math::tf32, Math::tf32x3}) {
    EXPECT_EQ(dot(math, row({infinity, 1}), column({1, 1})), infinity) << name(math);
    EXPECT_TRUE(std::isnan(dot(math, row({NAN, 1}), column({1, 1})))) << name(math);
    EXPECT_TRUE(std::isnan(dot(math, row({infinity, 1}), column({0, 1})))) << name(math);
  }
  EXPECT_EQ(dot(Math::tf32, row({largest}), column({0.5F})), infinity);  // rounded up to 2^128
  EXPECT_NEAR(dot(Math::tf32x3, row({largest}), column({0.5F})) / largest, 0.5, 0x1p-22);
}

// pytorch#78275: [0, 3.14] times the identity, then times 3.14, gave 9.8616 on an A40 and 9.8596 on
// other GPUs: TF32 rounds 3.14 to 3.140625.
TEST(tf32, gives_the_number_of_pytorch_issue_78275) {
  const Tensor x = Tensor::from<float>({1, 2}, std::vector<float>{0, 3.14F});
  const Tensor identity = Tensor::from<float>({2, 2}, std::vector<float>{1, 0, 0, 1});
  const auto square = [&](Math math) {
    const Tensor y = run_kernel(MatMul{}, {x, identity}, {.math = math}).outputs[0];
    return static_cast<double>(static_cast<float>(y.at(1)) * 3.14F);
  };
  EXPECT_NEAR(square(Math::tf32), 9.8616, 5e-5);
  EXPECT_NEAR(square(Math::ieee), 9.8596, 5e-5);
  EXPECT_NEAR(square(Math::tf32x3), 9.8596, 5e-5);
}

TEST(tf32, threads_do_not_change_a_bit) {
  Tensor a(DType::f32, {67, 129}), b(DType::f32, {129, 45});
  for (std::int64_t i = 0; i < a.size(); ++i) a.set(i, std::sin(0.1 * static_cast<double>(i)));
  for (std::int64_t i = 0; i < b.size(); ++i) b.set(i, std::cos(0.3 * static_cast<double>(i)));
  for (const Math math : {Math::tf32, Math::tf32x3}) {
    std::vector<Tensor> results;
    for (const int threads : {1, 2, 3}) {
      const ThreadScope scope(threads);
      results.push_back(run_kernel(MatMul{}, {a, b}, {.math = math}).outputs[0]);
    }
    for (const Tensor& other : results)
      EXPECT_EQ(values_of(other), values_of(results[0])) << name(math);
  }
}

TEST(tf32, only_f32_values_can_have_it) {
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16})
    EXPECT_THROW(run_kernel(MatMul{}, {pattern(dtype, {2, 3}), pattern(dtype, {3, 2})},
                            {.math = Math::tf32}),
                 UsageError)
        << name(dtype);
}

// For tests/tf32_oracle.py: y = x w^T + b of the files in a folder, in the math it asks for.
TEST(tf32, multiplies_the_arrays_of_the_oracle) {
  const char* const folder = std::getenv("NARROWGAUGE_TF32_ORACLE");
  if (!folder) GTEST_SKIP() << "tests/tf32_oracle.py has the arrays";
  const std::string path = concat(folder, "/");
  const Math math = parse_math(std::getenv("NARROWGAUGE_TF32_MATH"));
  const Inputs inputs{read_npy(path + "x.npy"), read_npy(path + "w.npy"), read_npy(path + "b.npy")};
  const KernelResult result =
      run_kernel(Gemm{.transB = 1}, inputs, {.deterministic = false, .math = math});
  write_npy(path + "y.npy", result.outputs[0]);
}

TEST(tf32, the_environment_forbids_it_whatever_the_program_says) {
  setenv("NARROWGAUGE_TF32_OVERRIDE", "0", 1);
  allow_tf32(true);
  EXPECT_EQ(tf32_forbidden_by(), "NARROWGAUGE_TF32_OVERRIDE=0");
  EXPECT_FALSE(tf32_allowed());
  EXPECT_EQ(dot(Math::tf32, row({3.14F}), column({1})), static_cast<double>(3.14F));
  setenv("NARROWGAUGE_TF32_OVERRIDE", "1", 1);
  EXPECT_THROW(dot(Math::tf32, row({3.14F}), column({1})), UsageError);
  unsetenv("NARROWGAUGE_TF32_OVERRIDE");
  EXPECT_EQ(dot(Math::tf32, row({3.14F}), column({1})), 3.140625);
}

}  // namespace
}  // namespace narrowgauge::tf32_test
