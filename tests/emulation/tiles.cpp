// SPDX-License-Identifier: Apache-2.0
#include "emulation/tiles.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "units/chains.h"

namespace narrowgauge::emulation {
namespace {

constexpr std::size_t tile_count = 8, most_rows = 16, most_bytes = 64;
constexpr std::size_t lanes = most_bytes / 4;

struct Tile {
  std::size_t rows = 0, bytes = 0;  // of a row
  std::array<std::array<std::byte, most_bytes>, most_rows> row{};
};

struct Registers {
  bool configured = false;
  std::array<Tile, tile_count> tiles{};
};
thread_local Registers registers;

// Intel SDM volume 2, LDTILECFG.
struct Configuration {
  std::uint8_t palette, start_row, reserved[14];
  std::uint16_t bytes[16];
  std::uint8_t rows[16];
};

void require(bool condition, const char* instruction, const char* reason) {
  if (!condition) fail(instruction, reason);
}

Tile& tile_of(const char* instruction, int number) {
  require(registers.configured, instruction, "no tile is configured on this thread");
  require(number >= 0 && number < static_cast<int>(tile_count), instruction,
          "there is no such tile");
  Tile& tile = registers.tiles[static_cast<std::size_t>(number)];
  require(tile.rows > 0, instruction, "this tile has no rows");
  return tile;
}

struct Operands {
  Tile &sums, &a, &b;
};

Operands operands_of(const char* instruction, int sums, int a, int b) {
  require(sums != a && sums != b && a != b, instruction, "two operands are one tile");
  Operands found{tile_of(instruction, sums), tile_of(instruction, a), tile_of(instruction, b)};
  require(found.sums.rows == found.a.rows && found.sums.bytes == found.b.bytes &&
              found.a.bytes == 4 * found.b.rows,
          instruction, "the sizes of the tiles do not match");
  return found;
}

template <class T>
T element(const Tile& tile, std::size_t row, std::size_t index) {
  T value;
  std::memcpy(&value, tile.row[row].data() + index * sizeof value, sizeof value);
  return value;
}
template <class T>
void set_element(Tile& tile, std::size_t row, std::size_t index, T value) {
  std::memcpy(tile.row[row].data() + index * sizeof value, &value, sizeof value);
}

float widened(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

using Row = std::array<float, lanes>;

// [row of b][even or odd value of a pair]
std::array<std::array<Row, 2>, most_rows> columns_of(const Tile& b) {
  std::array<std::array<Row, 2>, most_rows> columns{};
  for (std::size_t k = 0; k < b.rows; ++k)
    for (std::size_t j = 0; j < b.bytes / 4; ++j)
      for (std::size_t odd = 0; odd < 2; ++odd)
        columns[k][odd][j] = widened(element<std::uint16_t>(b, k, 2 * j + odd));
  return columns;
}

int byte_at(const Tile& tile, std::size_t row, std::size_t index, bool is_signed) {
  const auto byte = element<std::uint8_t>(tile, row, index);
  return is_signed ? static_cast<std::int8_t>(byte) : byte;
}

}  // namespace

void fail(const char* instruction, const char* reason) {
  std::fprintf(stderr, "emulation: %s: %s\n", instruction, reason);
  std::abort();
}

void configure_tiles(const void* configuration) {
  Configuration wanted;
  std::memcpy(&wanted, configuration, sizeof wanted);
  require(wanted.palette == 1 && wanted.start_row == 0, "ldtilecfg", "palette 1 from row 0 is all");
  for (const std::uint8_t byte : wanted.reserved)
    require(byte == 0, "ldtilecfg", "a reserved byte is not zero");
  for (std::size_t i = 0; i < 16; ++i) {
    require(wanted.rows[i] <= most_rows && wanted.bytes[i] <= most_bytes, "ldtilecfg",
            "a tile has at most 16 rows of 64 bytes");
    require((wanted.rows[i] == 0) == (wanted.bytes[i] == 0), "ldtilecfg",
            "rows without bytes, or bytes without rows");
    if (i >= tile_count) {
      require(wanted.rows[i] == 0, "ldtilecfg", "there are eight tiles");
      continue;
    }
    registers.tiles[i] = Tile{wanted.rows[i], wanted.bytes[i]};
  }
  registers.configured = true;
}

void release_tiles() { registers = {}; }

void clear_tile(const char* instruction, int tile) { tile_of(instruction, tile).row = {}; }

void load_tile(const char* instruction, int tile, const void* from, std::int64_t stride) {
  Tile& to = tile_of(instruction, tile);
  to.row = {};
  const auto* row = static_cast<const std::byte*>(from);
  for (std::size_t r = 0; r < to.rows; ++r, row += stride)
    std::memcpy(to.row[r].data(), row, to.bytes);
}

void store_tile(int tile, void* to, std::int64_t stride) {
  const Tile& from = tile_of("tilestored", tile);
  auto* row = static_cast<std::byte*>(to);
  for (std::size_t r = 0; r < from.rows; ++r, row += stride)
    std::memcpy(row, from.row[r].data(), from.bytes);
}

// Multiplies as Summation::even_and_odd of narrowgauge/matrix_unit.h: the sums of even and of odd
// products are made apart, then added to each other and to what was there; subnormals are zeros.
void multiply_bf16(int sums, int a, int b) {
  const Operands operands = operands_of("tdpbf16ps", sums, a, b);
  const auto columns = columns_of(operands.b);
  const sim::FloatMode flushing(true);
  for (std::size_t r = 0; r < operands.a.rows; ++r) {
    std::array<Row, 2> sum{};
    for (std::size_t k = 0; k < operands.b.rows; ++k)
      for (std::size_t odd = 0; odd < 2; ++odd) {
        const float left = widened(element<std::uint16_t>(operands.a, r, 2 * k + odd));
        for (std::size_t j = 0; j < lanes; ++j)
          sum[odd][j] = std::fma(left, columns[k][odd][j], sum[odd][j]);
      }
    for (std::size_t j = 0; j < operands.sums.bytes / 4; ++j)
      set_element(operands.sums, r, j,
                  element<float>(operands.sums, r, j) + (sum[0][j] + sum[1][j]));
  }
}

void multiply_bytes(const char* instruction, int sums, int a, int b) {
  const Operands operands = operands_of(instruction, sums, a, b);
  const std::string_view name = instruction;  // "dpb", the signs of a and b, "d"
  for (std::size_t r = 0; r < operands.a.rows; ++r)
    for (std::size_t j = 0; j < operands.sums.bytes / 4; ++j) {
      auto sum = element<std::uint32_t>(operands.sums, r, j);
      for (std::size_t k = 0; k < operands.b.rows; ++k)
        for (std::size_t i = 0; i < 4; ++i)
          sum += static_cast<std::uint32_t>(byte_at(operands.a, r, 4 * k + i, name[3] == 's') *
                                            byte_at(operands.b, k, 4 * j + i, name[4] == 's'));
      set_element(operands.sums, r, j, sum);
    }
}

}  // namespace narrowgauge::emulation
