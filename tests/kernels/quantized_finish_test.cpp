// SPDX-License-Identifier: Apache-2.0
// The epilogue of quantised sums against its definition, by every number of columns.
#include "kernels/cpu/bytes/quantized_finish.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace narrowgauge::cpu::quantized_finish_test {
namespace {

constexpr std::int64_t rows = 3, most_columns = 80, padded = 96;

// Lists for each column, padded to whole panels, and sums for each row.
struct Numbers {
  std::vector<float> factors, biases;
  std::vector<std::int32_t> zeros, starts, sums, row_sums;

  Numbers() {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> factor(1e-3F, 3e-3F), bias(-20, 20);
    std::uniform_int_distribution<std::int32_t> zero(-9, 9), start(-5000, 5000), sum(-60000, 60000);
    for (std::int64_t c = 0; c < padded; ++c) {
      factors.push_back(factor(random));
      biases.push_back(bias(random));
      zeros.push_back(zero(random));
      starts.push_back(start(random));
    }
    for (std::int64_t i = 0; i < rows * padded; ++i) sums.push_back(sum(random));
    for (std::int64_t r = 0; r < rows; ++r) row_sums.push_back(start(random));
  }
};

std::int32_t expected(const Numbers& all, const QuantizedFinish& finish, std::int64_t row,
                      std::int64_t column) {
  const auto c = static_cast<std::size_t>(column), r = static_cast<std::size_t>(row);
  std::int32_t sum = all.sums[r * padded + c];
  if (finish.starts) sum += all.starts[c];
  if (finish.zeros) sum -= all.zeros[c] * all.row_sums[r];
  const float value = std::fma(static_cast<float>(sum), all.factors[c], all.biases[c]);
  const float bounded = std::min(std::max(value, finish.low), finish.high);
  const auto whole = static_cast<std::int32_t>(std::nearbyint(bounded)) + finish.y_zero;
  return finish.y == DType::u8 ? std::clamp(whole, 0, 255) : std::clamp(whole, -128, 127);
}

void expect_definition(const Numbers& all, QuantizedFinish finish, std::int64_t columns) {
  std::vector<std::byte> y(static_cast<std::size_t>(rows * padded), std::byte{77});
  finish.of_tier = quantized_finish();
  finish_quantized(finish, {rows, 0, columns, all.sums.data(), all.row_sums.data(), padded, nullptr,
                            y.data(), padded});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < padded; ++column) {
      const std::byte got = y[static_cast<std::size_t>(row * padded + column)];
      const std::int32_t number = finish.y == DType::u8 ? std::to_integer<std::uint8_t>(got)
                                                        : std::to_integer<std::int8_t>(got);
      EXPECT_EQ(number, column < columns ? expected(all, finish, row, column) : 77)
          << columns << " columns, row " << row << ", column " << column;
    }
}

TEST(quantized_finish, follows_its_definition_with_and_without_zeros_and_starts) {
  const Numbers all;
  for (const DType y : {DType::u8, DType::i8})
    for (const bool zeros : {false, true})
      for (const bool starts : {false, true})
        for (std::int64_t columns = 1; columns <= most_columns; ++columns) {
          QuantizedFinish finish{};
          finish.factors = all.factors.data();
          finish.biases = all.biases.data();
          finish.zeros = zeros ? all.zeros.data() : nullptr;
          finish.starts = starts ? all.starts.data() : nullptr;
          finish.low = -100;
          finish.high = std::numeric_limits<float>::infinity();
          finish.y = y;
          finish.y_zero = y == DType::u8 ? 120 : -3;
          expect_definition(all, finish, columns);
          if (HasFailure()) return;
        }
}

}  // namespace
}  // namespace narrowgauge::cpu::quantized_finish_test
