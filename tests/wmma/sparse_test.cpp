// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/wmma/sparse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "narrowgauge/wmma.hpp"
#include "wmma/operands.h"

namespace narrowgauge::test::sparse_test {
namespace {

using wmma::bfloat16;
using wmma::half;
using wmma::UnitChoice;
using wmma::UnitScope;
using wmma::Unresolved;
using wmma::precision::tf32;

// A dense tile whose groups have zeros enough: of four elements two, of two tf32 one.
template <int K, class S>
Aligned<S> sparse_tile(std::mt19937& random, int group) {
  Aligned<S> tile(16 * K, S(0));
  for (int first = 0; first < 16 * K; first += group)
    for (int kept = 0; kept < group / 2; ++kept) {
      const auto place = static_cast<std::size_t>(first) + random() % static_cast<unsigned>(group);
      tile[place] = S(static_cast<int>(random() % 15) + (std::is_unsigned_v<S> ? 0 : -7));
    }
  return tile;
}

template <class T, int K, class C>
struct Tile {
  using S = typename Element<T>::storage;
  static constexpr int group = std::is_same_v<T, tf32> ? 2 : 4;
  explicit Tile(unsigned seed = 1) : random(seed) {
    a = sparse_tile<K, S>(random, group);
    for (S& value : b)
      value = S(static_cast<int>(random() % 13) + (std::is_unsigned_v<S> ? 0 : -6));
    for (C& value : c) value = C(static_cast<int>(random() % 100) - 50);
  }
  // d = a b + c from the dense tile, in a double.
  double expected(int m, int n) const {
    double sum = static_cast<double>(static_cast<float>(c[static_cast<std::size_t>(8 * m + n)]));
    for (int k = 0; k < K; ++k)
      sum += static_cast<double>(static_cast<float>(a[static_cast<std::size_t>(m * K + k)])) *
             static_cast<double>(static_cast<float>(b[static_cast<std::size_t>(n * K + k)]));
    return sum;
  }

  std::mt19937 random;
  Aligned<S> a, b = Aligned<S>(8 * K);
  Aligned<C> c = Aligned<C>(128);
};

template <class T, int K, class C, int Selector>
wmma::sparse_fragment<wmma::accumulator, K, C> multiply(const Tile<T, K, C>& tile) {
  Aligned<typename Element<T>::storage> values(16 * K / 2);
  std::uint32_t metadata[32];
  wmma::compress_sparse<K>(tile.a.data(), K, values.data(), K / 2, metadata, Selector);
  wmma::sparse_fragment<wmma::matrix_a, K, T> a;
  wmma::sparse_fragment<wmma::matrix_b, K, T> b;
  wmma::sparse_fragment<wmma::accumulator, K, C> c, d;
  wmma::sparse_metadata<K, T> words;
  wmma::load_matrix_sync(a, values.data(), K / 2);
  wmma::load_matrix_sync(b, tile.b.data(), K, wmma::mem_col_major);
  wmma::load_matrix_sync(c, tile.c.data(), 8, wmma::mem_row_major);
  wmma::load_metadata_sync(words, metadata);
  wmma::mma_sp_sync<Selector>(d, a, b, c, words);
  return d;
}

// Small integers, whose sums every format and unit holds exactly.
template <class T, int K, class C, int Selector = 0>
void check_exact() {
  for (const MatrixUnit unit : {MatrixUnit::a100, MatrixUnit::h100}) {
    const UnitScope scope(unit, Unresolved::allowed);
    const Tile<T, K, C> tile;
    const auto d = multiply<T, K, C, Selector>(tile);
    for (int m = 0; m < 16; ++m)
      for (int n = 0; n < 8; ++n)
        ASSERT_EQ(static_cast<float>(d.x[8 * m + n]), tile.expected(m, n)) << m << ", " << n;
  }
}

TEST(wmma_sparse, products_equal_those_of_the_dense_tile_in_every_shape_type_and_selector) {
  check_exact<half, 16, float>();
  check_exact<half, 16, float, 1>();
  check_exact<half, 16, half, 3>();
  check_exact<half, 32, float, 1>();
  check_exact<half, 32, half>();
  check_exact<bfloat16, 16, float, 2>();
  check_exact<bfloat16, 32, float>();
  check_exact<tf32, 8, float, 3>();
  check_exact<tf32, 16, float, 1>();
  check_exact<signed char, 32, int, 1>();
  check_exact<signed char, 64, int>();
  check_exact<unsigned char, 32, int>();
  check_exact<unsigned char, 64, int>();
}

TEST(wmma_sparse, sums_are_those_of_the_unit_over_the_selected_products) {
  std::mt19937 random(9);
  for (const UnitChoice choice : {UnitChoice{MatrixUnit::a100, Unresolved::allowed},
                                  UnitChoice{MatrixUnit::h100, Unresolved::refused}}) {
    const UnitScope scope(choice);
    Tile<half, 32, float> tile;
    for (half& value : tile.a)
      if (static_cast<float>(value) != 0)
        value = half(static_cast<float>(random() >> 8) * 0x1p-23F);
    for (half& value : tile.b) value = half(static_cast<float>(random() >> 8) * 0x1p-23F - 1);
    const auto d = multiply<half, 32, float, 0>(tile);
    for (int m = 0; m < 16; ++m)
      for (int n = 0; n < 8; ++n) {
        std::vector<Unpacked> left, right;
        for (std::size_t first = 0; first < 32; first += 4) {
          std::size_t kept = 0;
          for (std::size_t i = first; i < first + 4; ++i) {
            const half element = tile.a[static_cast<std::size_t>(m) * 32 + i];
            if (static_cast<float>(element) == 0) continue;
            left.push_back(unpack(UnitFormat::f16, wmma::bits_of(element)));
            right.push_back(unpack(UnitFormat::f16,
                                   wmma::bits_of(tile.b[static_cast<std::size_t>(n) * 32 + i])));
            ++kept;
          }
          for (; kept < 2; ++kept) {  // stored zeros
            left.push_back(unpack(UnitFormat::f16, 0));
            right.push_back(unpack(UnitFormat::f16, 0));
          }
        }
        const float c = tile.c[static_cast<std::size_t>(8 * m + n)];
        const auto* model = find_unit_model(choice.unit, UnitFormat::f16, UnitFormat::f32);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(d.x[8 * m + n]),
                  dot_product_add(*model, left, right, std::bit_cast<std::uint32_t>(c)));
      }
  }
}

TEST(wmma_sparse, metadata_stands_where_ptx_has_it) {
  std::uint32_t words[32];
  Aligned<half> dense(16 * 32, half(0.0F)), values(16 * 16);
  for (std::size_t i = 0; i < dense.size(); i += 2)
    dense[i] = half(1.0F);  // first and third of four
  wmma::compress_sparse<32>(dense.data(), 32, values.data(), 16, words);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(words[lane], lane % 4 < 2 ? 0x88888888U : 0U) << lane;
  wmma::compress_sparse<32>(dense.data(), 32, values.data(), 16, words, 1);
  for (std::uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(words[lane], lane % 4 < 2 ? 0U : 0x88888888U) << lane;

  // Row 11, columns 28 and 31 of a depth of 32: the second thread of quad 3, its upper half.
  std::fill(dense.begin(), dense.end(), half(0.0F));
  dense[11 * 32 + 28] = dense[11 * 32 + 31] = half(1.0F);
  wmma::compress_sparse<32>(dense.data(), 32, values.data(), 16, words);
  EXPECT_EQ(words[4 * 3 + 1], 0xc444'4444U);
  EXPECT_EQ(static_cast<float>(values[11 * 16 + 15]), 1.0F);

  Aligned<float> pairs(16 * 8, 0.0F), kept(16 * 4);
  pairs[9] = 1;  // row 1, column 1
  wmma::compress_sparse<8>(pairs.data(), 8, kept.data(), 4, words, 2);
  EXPECT_EQ(words[4 * 1 + 2], 0x4444'444eU);

  // A thread has eight groups of one row of bytes. Row 11, columns 61 and 62 of 64: the last of the
  // last thread of quad 3; row 3, columns 29 and 30 of 32 for selector 1: the third thread.
  Aligned<signed char> bytes(16 * 64, 0), kept_bytes(16 * 32);
  bytes[11 * 64 + 61] = bytes[11 * 64 + 62] = 1;
  wmma::compress_sparse<64>(bytes.data(), 64, kept_bytes.data(), 32, words);
  EXPECT_EQ(words[4 * 3 + 3], 0x9444'4444U);
  std::fill(bytes.begin(), bytes.end(), static_cast<signed char>(0));
  bytes[3 * 32 + 29] = bytes[3 * 32 + 30] = 1;
  wmma::compress_sparse<32>(bytes.data(), 32, kept_bytes.data(), 16, words, 1);
  EXPECT_EQ(words[4 * 3 + 2], 0x9444'4444U);
}

TEST(wmma_sparse, metadata_reads_back_the_columns) {
  std::mt19937 random(4);
  const auto dense = sparse_tile<64, signed char>(random, 4);
  Aligned<signed char> values(16 * 32);
  std::uint32_t words[32];
  std::vector<int> columns(16 * 32);
  wmma::compress_sparse<64>(dense.data(), 64, values.data(), 32, words);
  wmma::read_metadata<64, signed char>(words, columns.data());
  Aligned<signed char> again(dense.size(), static_cast<signed char>(0));
  for (std::size_t i = 0; i < columns.size(); ++i)
    again[i / 32 * 64 + static_cast<std::size_t>(columns[i])] = values[i];
  EXPECT_EQ(again, dense);
}

template <class Action>
std::string message_of(const Action& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(wmma_sparse, tiles_that_are_not_sparse_are_refused_by_their_place) {
  Aligned<half> dense(16 * 16, half(0.0F)), values(16 * 8);
  dense[5 * 16 + 8] = dense[5 * 16 + 9] = dense[5 * 16 + 11] = half(1.0F);
  std::uint32_t words[32];
  EXPECT_EQ(
      message_of([&] { wmma::compress_sparse<16>(dense.data(), 16, values.data(), 8, words); }),
      "wmma: compress_sparse: row 5 has 3 of 4 elements that are not zero, from column 8 on; at "
      "most 2 can be kept");
  EXPECT_NE(
      message_of([&] { wmma::compress_sparse<16>(dense.data(), 16, values.data(), 8, words, 4); }),
      "");
}

TEST(wmma_sparse, metadata_that_ptx_leaves_open_is_refused) {
  std::vector<int> columns(16 * 16);
  for (unsigned bits = 0; bits < 16; ++bits) {
    std::uint32_t words[32];
    for (auto& word : words) word = 0x4444'4444;
    words[4 * 2] = 0x4444'4044 | bits << 8;  // row 2, its third group
    const bool rises = (bits & 3) < bits >> 2;
    const auto read = [&] { wmma::read_metadata<16, half>(words, columns.data()); };
    EXPECT_EQ(message_of(read).empty(), rises) << bits;
    const auto read_pairs = [&] { wmma::read_metadata<8, tf32>(words, columns.data()); };
    EXPECT_EQ(message_of(read_pairs).empty(), bits == 4 || bits == 14) << bits;
  }
  std::uint32_t words[32] = {};
  EXPECT_EQ(message_of([&] { wmma::read_metadata<16, half>(words, columns.data()); }),
            "wmma: metadata: the bits of row 0, group 0 are 0, no two indices in rising order");
}

TEST(wmma_sparse, sums_of_floats_need_the_flag_and_integers_do_not) {
  const auto floats = [] { multiply<half, 16, float, 0>(Tile<half, 16, float>()); };
  const auto bytes = [] { multiply<signed char, 32, int, 0>(Tile<signed char, 32, int>()); };
  EXPECT_NE(message_of(floats).find("Unresolved::allowed"), std::string::npos);
  EXPECT_EQ(message_of(bytes), "");
  const UnitScope scope(MatrixUnit::t4, Unresolved::allowed);
  EXPECT_EQ(message_of(bytes), "wmma: t4 has no sparse products");
  EXPECT_EQ(message_of(floats), "wmma: t4 has no sparse products");
}

TEST(wmma_sparse, sums_of_integers_saturate) {
  Aligned<signed char> dense(16 * 32, static_cast<signed char>(0)), values(16 * 16);
  for (std::size_t i = 0; i < dense.size(); i += 2) dense[i] = 100;
  std::uint32_t metadata[32];
  wmma::compress_sparse<32>(dense.data(), 32, values.data(), 16, metadata);
  wmma::sparse_fragment<wmma::matrix_a, 32, signed char> a;
  wmma::sparse_fragment<wmma::matrix_b, 32, signed char> b;
  wmma::sparse_fragment<wmma::accumulator, 32, int> c;
  wmma::sparse_metadata<32, signed char> words;
  wmma::load_matrix_sync(a, values.data(), 16);
  wmma::load_metadata_sync(words, metadata);
  wmma::fill_fragment(b, static_cast<signed char>(-100));
  wmma::fill_fragment(c, std::numeric_limits<int>::min() + 7);
  wmma::mma_sp_sync(c, a, b, c, words, true);
  EXPECT_EQ(c.x[77], std::numeric_limits<int>::min());
  wmma::mma_sp_sync(c, a, b, c, words);
  EXPECT_EQ(c.x[77], std::numeric_limits<int>::max() - 159'999);
}

}  // namespace
}  // namespace narrowgauge::test::sparse_test
