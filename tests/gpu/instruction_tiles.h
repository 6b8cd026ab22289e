// SPDX-License-Identifier: Apache-2.0
// Random tiles for matrix instructions, and what the models of matrix_unit.h make of them.
#pragma once

#include <narrowgauge/matrix_unit_arithmetic.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <narrowgauge/wmma.hpp>
#include <vector>

#include "instruction.h"
#include "random_bits.h"

namespace narrowgauge::test {

// The bits of an element of a format, from those of a float.
inline std::uint64_t element_bits(UnitFormat format, std::uint32_t bits, Random& random) {
  using enum UnitFormat;
  const float value = std::bit_cast<float>(bits);
  switch (format) {
    case f64:  // all bits of the significand, but for what is special
      return std::bit_cast<std::uint64_t>(double{value}) |
             (std::fpclassify(value) == FP_NORMAL ? random() >> 35 : 0);
    case bf16:
      return bits >> 16;
    case f16:
      return wmma::bits_of(wmma::half(value));
    case f8e5m2:
      return wmma::bits_of(wmma::half(value)) >> 8;
    case f8e4m3: {  // of f16 those three bits of the significand, and the exponent where it fits
      const std::uint64_t half = wmma::bits_of(wmma::half(value)), sign = half >> 8 & 0x80;
      const int exponent = static_cast<int>(half >> 10 & 31) - 8;
      if (exponent < 0 || exponent > 15) return sign | (half >> 5 & 0x7f);
      return sign | static_cast<std::uint64_t>(exponent) << 3 | (half >> 7 & 7);
    }
    default:  // f32, tf32; of integers the lowest
      return bits;
  }
}

// Operands of `count` executions of an instruction, and room for what they give.
class RandomTiles {
 public:
  RandomTiles(const Instruction& of, int tiles, Random& random) : instruction(of), count(tiles) {
    for (int tile = 0; tile < tiles; ++tile) {
      const auto values = static_cast<Values>(tile % kinds_of_values);
      put(a, of.rows() * of.row_depth(), values, random);
      put(b, tile_columns * of.depth, values, random);
      for (int i = 0; i < of.rows() * tile_columns; ++i)
        c.push_back(draw(of.result, values, random, sum_bits));
      if (of.kind == Kind::sparse) choose_kept(random);
    }
    d.resize(c.size());
  }
  InstructionTiles view() { return {a, b, metadata, c, d, count}; }

  // What the model gives at this place of d.
  std::uint64_t expected(const UnitModel& model, std::size_t place) const {
    const std::size_t row = place / tile_columns;  // of all tiles
    const std::size_t tile = row / static_cast<std::size_t>(instruction.rows());
    const std::size_t column = tile * tile_columns + place % tile_columns;
    const auto row_depth = static_cast<std::size_t>(instruction.row_depth());
    std::vector<Unpacked> left, right;
    for (std::size_t k = 0; k < row_depth; ++k) {
      left.push_back(element(a, row * row_depth + k));
      const std::size_t of_column = kept.empty() ? k : kept[row * row_depth + k];
      right.push_back(element(b, column * static_cast<std::size_t>(instruction.depth) + of_column));
    }
    return dot_product_add(model, left, right, c[place]);
  }

  Instruction instruction;
  int count;
  std::vector<std::byte> a, b;
  std::vector<std::uint32_t> metadata;
  std::vector<std::uint64_t> c, d;
  std::vector<std::size_t> kept;  // where in a row the elements of a stood, if it is sparse

 private:
  template <class Bits>
  std::uint64_t draw(UnitFormat format, Values values, Random& random, const Bits& bits) const {
    if (values == any_bits) return random() >> (64 - 8 * bytes_of(format));
    const int smallest = instruction.result == UnitFormat::f16 ? -24 : -149;
    return element_bits(format, bits(random, values, smallest), random);
  }

  void put(std::vector<std::byte>& to, int elements, Values values, Random& random) const {
    for (int i = 0; i < elements; ++i) {
      const std::uint64_t bits = draw(instruction.operand, values, random, operand_bits);
      for (int j = 0; j < bytes_of(instruction.operand); ++j)
        to.push_back(static_cast<std::byte>(bits >> (8 * j)));
    }
  }

  Unpacked element(const std::vector<std::byte>& from, std::size_t index) const {
    const auto bytes = static_cast<std::size_t>(bytes_of(instruction.operand));
    std::uint64_t bits = 0;
    std::memcpy(&bits, from.data() + index * bytes, bytes);
    return unpack(instruction.operand, bits);
  }

  void choose_kept(Random& random) {
    const bool is_long = instruction.depth * bytes_of(instruction.operand) == 64;
    switch (bytes_of(instruction.operand)) {
      case 4:
        return is_long ? choose<16, float>(random) : choose<8, float>(random);
      case 2:
        return is_long ? choose<32, wmma::half>(random) : choose<16, wmma::half>(random);
      default:
        return is_long ? choose<64, signed char>(random) : choose<32, signed char>(random);
    }
  }
  // The metadata of a tile that has ones where elements are kept, in random places.
  template <int K, class T>
  void choose(Random& random) {
    constexpr unsigned group = sizeof(T) == 4 ? 2 : 4;
    std::vector<T> pattern(16 * K, T(0)), values(16 * K / 2);
    for (std::size_t first = 0; first < pattern.size(); first += group) {
      const std::uint64_t one = random() % group, other = one + 1 + random() % 3;
      pattern[first + one] = T(1);
      if (group == 4) pattern[first + other % group] = T(1);
    }
    std::uint32_t words[32];
    int columns[16 * K / 2];
    wmma::compress_sparse<K>(pattern.data(), K, values.data(), K / 2, words);
    wmma::read_metadata<K, T>(words, columns);
    metadata.insert(metadata.end(), words, words + 32);
    kept.insert(kept.end(), columns, columns + 16 * K / 2);
  }
};

// The unit that an instruction of a GPU of this unit computes as; nullptr where it has no model.
inline const UnitModel* model_of(MatrixUnit unit, const Instruction& instruction) {
  const bool is_byte =
      instruction.operand == UnitFormat::f8e4m3 || instruction.operand == UnitFormat::f8e5m2;
  if (unit == MatrixUnit::h100 && is_byte && instruction.kind != Kind::wgmma)
    unit = MatrixUnit::h100_mma;
  return find_unit_model(unit, instruction.operand, instruction.result);
}

// The tiles whose checksum is recorded, 2^15 results of the instruction at a position of
// instruction_list: the first from this seed.
inline std::uint64_t seed_of(std::size_t index) { return index + 1; }
inline int recorded_tiles(const Instruction& instruction) {
  return (1 << 15) / (instruction.rows() * tile_columns);
}

// A result as it is compared: of the NaNs of f64, whose bits are not modelled, all are one.
inline std::uint64_t comparable(UnitFormat result, std::uint64_t bits) {
  const bool is_nan = result == UnitFormat::f64 && std::isnan(std::bit_cast<double>(bits));
  return is_nan ? matrix_unit_arithmetic::nan_f64 : bits;
}

// A checksum of 64 bits (FNV-1a) for results of one instruction, one after another.
class Checksum {
 public:
  void add(std::uint64_t bits) {
    for (int i = 0; i < 8; ++i) value_ = (value_ ^ (bits >> (8 * i) & 0xff)) * 0x100000001b3;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace narrowgauge::test
