// SPDX-License-Identifier: Apache-2.0
// The conversions for loops over many, of every f32 pattern, against those of one number; these are
// tested with the definitions of their formats.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>

#include "base/threads/parallel.h"
#include "kernels/cpu/convert/convert.h"
#include "tensor/small_floats.h"
#include "tensor/values.h"

namespace narrowgauge::conversions_slow_test {
namespace {

constexpr std::int64_t patterns = std::int64_t{1} << 32, piece = 1 << 16;

// convert(values, count, bits) for all patterns, `bits` being one result in each element.
template <class Narrow, class Convert>
std::int64_t differences(const Convert& convert) {
  std::atomic<std::int64_t> wrong{0};
  parallel_for(patterns, piece, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values;
    for (std::int64_t i = begin; i < end; ++i)
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(i)));
    std::vector<decltype(Narrow::bits)> bits(values.size());
    convert(values, bits);
    std::int64_t here = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      here += bits[i] != narrow<Narrow>(values[i]).bits;
    wrong += here;
  });
  return wrong;
}

template <class Narrow>
std::int64_t row_differences(DType dtype) {
  return differences<Narrow>([dtype](const auto& values, auto& bits) {
    cpu::narrow_row(values.data(), dtype, bits.data(), std::ssize(values));
  });
}

TEST(every_float, becomes_the_same_in_rows) {
  EXPECT_EQ(row_differences<f16>(DType::f16), 0);
  EXPECT_EQ(row_differences<bf16>(DType::bf16), 0);
  EXPECT_EQ(row_differences<f8e4m3fn>(DType::f8e4m3fn), 0);
  EXPECT_EQ(row_differences<f8e5m2>(DType::f8e5m2), 0);
  EXPECT_EQ(row_differences<f8e4m3fnuz>(DType::f8e4m3fnuz), 0);
  EXPECT_EQ(row_differences<f8e5m2fnuz>(DType::f8e5m2fnuz), 0);
  EXPECT_EQ(row_differences<f8e8m0>(DType::f8e8m0), 0);
  EXPECT_EQ(differences<f4e2m1>([](const auto& values, auto& bits) {
              for (std::size_t i = 0; i < values.size(); ++i)
                bits[i] = static_cast<std::uint8_t>(small_bits<f4e2m1>(values[i]));
            }),
            0);
}

}  // namespace
}  // namespace narrowgauge::conversions_slow_test
