// SPDX-License-Identifier: Apache-2.0
// Tensors with known contents, and comparison of results with a reference in double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/core/strip.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge::cpu {

inline constexpr DType storage_dtypes[] = {DType::f32, DType::f16, DType::bf16};

inline Tensor random_tensor(DType dtype, std::int64_t count, unsigned seed, double mean = 0,
                            double deviation = 1) {
  Tensor tensor(dtype, {count});
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(mean, deviation);
  for (std::int64_t i = 0; i < count; ++i) tensor.set(i, normal(engine));
  return tensor;
}

inline std::vector<double> doubles(const Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.at(std::int64_t(i));
  return values;
}

inline float* floats(Tensor& tensor) { return tensor.values<float>().data(); }
inline const float* floats(const Tensor& tensor) { return tensor.values<float>().data(); }
inline ConstArray view(const Tensor& tensor, std::int64_t pitch = 0) {
  return {tensor.data(), tensor.dtype(), pitch};
}
inline Array view(Tensor& tensor, std::int64_t pitch = 0) {
  return {tensor.data(), tensor.dtype(), pitch};
}

// Half a unit in the last place of values near 1, for results that are rounded to `dtype` once.
inline double rounding(DType dtype) {
  return dtype == DType::f16 ? 0x1p-11 : dtype == DType::bf16 ? 0x1p-8 : 0x1p-24;
}

// |result - expected| <= relative * |expected| + absolute, once rounded to the result's dtype.
inline void expect_close(const Tensor& result, const std::vector<double>& expected, double relative,
                         double absolute, const std::string& what = "") {
  ASSERT_EQ(std::size_t(result.size()), expected.size()) << what;
  relative += 1.01 * rounding(result.dtype());
  absolute += result.dtype() == DType::f16 ? 0x1p-25 : 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double got = result.at(std::int64_t(i));
    if (std::abs(expected[i]) > largest_finite(result.dtype())) {
      ASSERT_EQ(got, std::copysign(std::numeric_limits<double>::infinity(), expected[i])) << what;
      continue;
    }
    if (std::isnan(expected[i]) ? std::isnan(got) : got == expected[i]) continue;
    ASSERT_LE(std::abs(got - expected[i]), relative * std::abs(expected[i]) + absolute)
        << what << ", element " << i << ": got " << got << ", expected " << expected[i];
  }
}

// Workspace that shows what a kernel reads without having written it.
inline std::vector<std::uint64_t> workspace(std::int64_t bytes) {
  return std::vector<std::uint64_t>(static_cast<std::size_t>(bytes + 7) / 8, ~std::uint64_t{0});
}

}  // namespace narrowgauge::cpu
