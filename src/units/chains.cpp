// SPDX-License-Identifier: Apache-2.0
#include "units/chains.h"

#include <xmmintrin.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace narrowgauge::sim {

namespace {

constexpr std::int64_t lanes = 16;
using Lanes = std::array<float, lanes>;
using Sums = std::array<Lanes, chain_rows>;

// sums += row[k] columns[k], one FMA in every lane.
void add_product(const ChainBlock& block, std::int64_t k, Sums& sums) {
  const float* column = block.columns + k * lanes;
  for (std::size_t r = 0; r < chain_rows; ++r) {
    const float a = block.rows[static_cast<std::int64_t>(r) * block.depth + k];
    for (std::size_t j = 0; j < lanes; ++j) sums[r][j] = std::fma(a, column[j], sums[r][j]);
  }
}

void even_and_odd(const ChainBlock& block, Sums& sums) {
  for (std::int64_t first = 0; first < block.depth; first += block.model.terms) {
    Sums even{}, odd{};
    const std::int64_t last = std::min(first + block.model.terms, block.depth);
    for (std::int64_t k = first; k < last; ++k) add_product(block, k, k % 2 ? odd : even);
    for (std::size_t r = 0; r < chain_rows; ++r)
      for (std::size_t j = 0; j < lanes; ++j) sums[r][j] += even[r][j] + odd[r][j];
  }
}

void odd_then_even(const ChainBlock& block, Sums& sums) {
  for (std::int64_t k = 0; k < block.depth; k += 2) {
    if (k + 1 < block.depth) {
      add_product(block, k + 1, sums);
    } else {
      for (Lanes& sum : sums)
        for (float& x : sum) x += 0.0F;  // the missing product: -0 becomes +0
    }
    add_product(block, k, sums);
  }
}

}  // namespace

void add_chains(const ChainBlock& block, float* sums) {
  Sums c;
  for (std::size_t r = 0; r < chain_rows; ++r) std::copy_n(sums + r * lanes, lanes, c[r].begin());
  if (block.model.summation == Summation::even_and_odd)
    even_and_odd(block, c);
  else if (block.model.summation == Summation::odd_then_even)
    odd_then_even(block, c);
  else
    for (std::int64_t k = 0; k < block.depth; ++k) add_product(block, k, c);
  for (std::size_t r = 0; r < chain_rows; ++r) std::copy_n(c[r].begin(), lanes, sums + r * lanes);
}

void add_integers(const ChainBlock& block, std::uint32_t* sums) {
  for (std::int64_t k = 0; k < block.depth; ++k)
    for (std::int64_t r = 0; r < chain_rows; ++r) {
      const auto a = static_cast<std::int32_t>(block.rows[r * block.depth + k]);
      for (std::int64_t j = 0; j < lanes; ++j) {
        const auto b = static_cast<std::int32_t>(block.columns[k * lanes + j]);
        sums[r * lanes + j] += static_cast<std::uint32_t>(a * b);
      }
    }
}

FloatMode::FloatMode(bool flush) : saved_(_mm_getcsr()) {
  constexpr unsigned masked = 0x1f80, flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  _mm_setcsr(flush ? masked | flush_to_zero | denormals_are_zero : masked);
}

FloatMode::~FloatMode() { _mm_setcsr(saved_); }

}  // namespace narrowgauge::sim
