// SPDX-License-Identifier: Apache-2.0
// Panels of weights for a tier that adds two products in 16 bits: what each group holds, and which
// are there twice.
#include "kernels/cpu/bytes/quantized_weights.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>

namespace narrowgauge::cpu::quantized_weights_test {
namespace {

constexpr QuantizedTier saturating{.name = "fours",
                                   .isa = Isa::avx2,
                                   .rows = 6,
                                   .group = 4,
                                   .wide = false,
                                   .saturates = true,
                                   .multiply = nullptr};
constexpr std::int64_t columns = 21, depth = 37;

class Packed {
 public:
  explicit Packed(std::vector<std::int8_t> w)
      : w_(std::move(w)),
        weights_(dense_view(DType::i8, {columns, depth, 1}), 1, saturating),
        bytes_(static_cast<std::size_t>(weights_.bytes())),
        fits_(weights_.pack(w_.data(), bytes_.data())) {}

  bool fits() const { return fits_; }
  std::int64_t groups(std::int64_t panel) const {
    return weights_.panel(bytes_.data(), 0, panel).groups;
  }

  void expect_weights() const {
    for (std::int64_t panel = 0; panel < weights_.panels(); ++panel) {
      std::map<std::pair<std::int64_t, std::int64_t>, int> sums;  // by column and place
      const QuantizedColumns all = weights_.panel(bytes_.data(), 0, panel);
      for (std::int64_t group = 0; group < all.groups; ++group) add(all, group, panel, sums);
      for (const auto& [at, sum] : sums) {
        const auto [column, place] = at;
        const bool inside = column < columns && place < depth;
        EXPECT_EQ(sum, inside ? w_[static_cast<std::size_t>(column * depth + place)] : 0)
            << column << ' ' << place;
      }
    }
    for (std::int64_t column = 0; column < columns; ++column) {
      int sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += w_[static_cast<std::size_t>(column * depth + k)];
      EXPECT_EQ(weights_.sums(bytes_.data())[column], sum);
    }
  }

 private:
  static void add(const QuantizedColumns& all, std::int64_t group, std::int64_t panel,
                  std::map<std::pair<std::int64_t, std::int64_t>, int>& sums) {
    for (std::int64_t i = 0; i < 64; i += 2) {
      const std::byte* const pair = all.weights + group * 64 + i;
      const int a = static_cast<std::int8_t>(pair[0]), b = static_cast<std::int8_t>(pair[1]);
      for (const int of_a : {0, 255})
        for (const int of_b : {0, 255}) {
          EXPECT_LE(of_a * a + of_b * b, std::numeric_limits<std::int16_t>::max());
          EXPECT_GE(of_a * a + of_b * b, std::numeric_limits<std::int16_t>::min());
        }
      const std::int64_t column = panel * quantized_panel + i / 4;
      const std::int64_t place = all.places[group] + i % 4;
      sums[{column, place}] += a;
      sums[{column, place + 1}] += b;
    }
  }

  std::vector<std::int8_t> w_;
  QuantizedWeights weights_;
  std::vector<std::byte> bytes_;
  bool fits_;
};

std::vector<std::int8_t> filled(int first, int second) {
  std::vector<std::int8_t> w(columns * depth);
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = static_cast<std::int8_t>(i % 2 ? second : first);
  return w;
}

TEST(quantized_weights, of_seven_bits_are_there_once) {
  for (const auto& w : {filled(64, 64), filled(-64, -64), filled(127, -128), filled(127, 1)}) {
    const Packed packed(w);
    ASSERT_TRUE(packed.fits());
    EXPECT_EQ(packed.groups(0), 10);
    packed.expect_weights();
  }
}

TEST(quantized_weights, whose_products_may_saturate_are_there_twice) {
  for (const auto& [first, second] : {std::pair(127, 127), {-128, -128}, {127, 2}, {-2, -127}}) {
    std::vector<std::int8_t> w = filled(50, -50);
    w[3 * depth + 8] = static_cast<std::int8_t>(first);
    w[3 * depth + 9] = static_cast<std::int8_t>(second);
    const Packed packed(w);
    ASSERT_TRUE(packed.fits());
    EXPECT_EQ(packed.groups(0), 11);
    EXPECT_EQ(packed.groups(1), 10);
    packed.expect_weights();
  }
}

TEST(quantized_weights, are_refused_where_too_many_would_be_there_twice) {
  EXPECT_FALSE(Packed(filled(127, 127)).fits());
}

}  // namespace
}  // namespace narrowgauge::cpu::quantized_weights_test
