// SPDX-License-Identifier: Apache-2.0
// The models of AMX, AVX512-BF16 and VNNI against the instructions of this machine, on random
// operands with subnormals, infinities, NaN and cancellation. NARROWGAUGE_OWN_UNIT_RESULTS says how
// many results of each (10^6 unless set). All NaNs count as one. The emulated instructions of
// tests/emulation are compared in the same way, on every CPU.
#include <gtest/gtest.h>
#include <immintrin.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/machine/cpu.h"
#include "units/product.h"

namespace narrowgauge::sim::own_units_test {
namespace {

#ifdef NG_EMULATED
#define NG_NEEDS(units)
#else
#define NG_NEEDS(units) __attribute__((target(units)))
#endif

std::int64_t wanted_results() {
  const char* text = std::getenv("NARROWGAUGE_OWN_UNIT_RESULTS");
  return text ? std::atoll(text) : 1'000'000;
}

// Exponents around one (cancellation), anywhere, among subnormals; and any bits at all.
class RandomBf16 {
 public:
  std::uint16_t operator()(std::int64_t round) {
    const std::uint64_t bits = engine_();
    const auto any = static_cast<std::uint16_t>(bits);
    const std::uint64_t span = std::array<std::uint64_t, 4>{3, 40, 140, 0}[round & 3];
    if (span == 0) return any;
    const std::uint64_t centre = (round & 4) ? 64 : 127;  // products near the least f32
    const std::uint64_t field = centre - span / 3 + (bits >> 20) % span;
    if (bits >> 58 == 0) return static_cast<std::uint16_t>(any & 0x8000);
    if (bits >> 58 == 1) return static_cast<std::uint16_t>(any & 0x807f);
    return static_cast<std::uint16_t>((any & 0x807f) | std::min<std::uint64_t>(field, 254) << 7);
  }
  float sum(std::int64_t round) {
    const auto high = static_cast<std::uint32_t>((*this)(round)) << 16;
    return std::bit_cast<float>(high | static_cast<std::uint32_t>(engine_() & 0xffff));
  }
  std::uint64_t any() { return engine_(); }

 private:
  std::mt19937_64 engine_{7};
};

std::uint32_t bits_of(float value) {
  return std::isnan(value) ? 0x7fc0'0000U : std::bit_cast<std::uint32_t>(value);
}

// One tile: rows and columns 16, depth 32 of bf16 or 64 of bytes.
template <class Element, class Sum, std::int64_t depth>
struct Tile {
  static constexpr std::int64_t side = 16, group = 4 / sizeof(Element);
  alignas(64) std::array<Element, side * depth> a, b;  // b as [depth / group][column][group]
  alignas(64) std::array<Sum, side * side> c, d;
  static constexpr std::int64_t in_b(std::int64_t k, std::int64_t column) {
    return (k / group * side + column) * group + k % group;
  }
  // What the model makes of the tile.
  std::array<Sum, side * side> simulated(const UnitModel& model, UnitFormat of_a,
                                         UnitFormat of_b) const {
    std::array<Element, side * depth> columns;  // [column][k]
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int64_t j = 0; j < side; ++j)
        columns[static_cast<std::size_t>(j * depth + k)] = b[static_cast<std::size_t>(in_b(k, j))];
    std::array<Sum, side * side> result;
    auto sums = c;
    const PackedColumns packed(model, side, depth, {of_b, columns.data(), depth, 1, nullptr, 0});
    multiply(model, side, {of_a, a.data(), depth, 1, nullptr, 0}, packed, {sums.data(), side},
             {result.data(), side});
    return result;
  }
};
using Bf16Tile = Tile<std::uint16_t, float, 32>;
using ByteTile = Tile<std::uint8_t, std::int32_t, 64>;

struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1, start_row = 0;
  std::array<std::uint8_t, 14> reserved{};
  std::array<std::uint16_t, 16> bytes_per_row{};
  std::array<std::uint8_t, 16> rows{};
};

NG_NEEDS("amx-tile") void configure() {
  static TileConfiguration configuration;
  for (std::size_t tile = 0; tile < 3; ++tile) {
    configuration.bytes_per_row[tile] = 64;
    configuration.rows[tile] = 16;
  }
  _tile_loadconfig(&configuration);
}

template <class AnyTile>
NG_NEEDS("amx-tile,amx-bf16,amx-int8")
void run_tile(AnyTile& tile, int form) {
  asm volatile("" ::: "memory");
  _tile_loadd(0, tile.c.data(), 64);
  _tile_loadd(1, tile.a.data(), 64);
  _tile_loadd(2, tile.b.data(), 64);
  if (form == 0) _tile_dpbf16ps(0, 1, 2);
  if (form == 1) _tile_dpbssd(0, 1, 2);
  if (form == 2) _tile_dpbsud(0, 1, 2);
  if (form == 3) _tile_dpbusd(0, 1, 2);
  if (form == 4) _tile_dpbuud(0, 1, 2);
  _tile_stored(0, tile.d.data(), 64);
  asm volatile("" ::: "memory");
}

NG_NEEDS("amx-tile") void release() { _tile_release(); }

void fill(Bf16Tile& tile, RandomBf16& random, std::int64_t round) {
  for (auto* operand : {&tile.a, &tile.b})
    for (std::uint16_t& x : *operand) x = random(round);
  for (float& x : tile.c) x = random.sum(round);
}

void fill(ByteTile& tile, RandomBf16& random) {
  for (auto* operand : {&tile.a, &tile.b})
    for (std::uint8_t& x : *operand) x = static_cast<std::uint8_t>(random.any());
  for (std::int32_t& x : tile.c) x = static_cast<std::int32_t>(random.any());
}

template <class Instruction>
void compare_bf16(const UnitModel& model, const Instruction& instruction) {
  RandomBf16 random;
  Bf16Tile tile;
  std::int64_t wrong = 0;
  for (std::int64_t round = 0; round * 256 < wanted_results(); ++round) {
    fill(tile, random, round);
    instruction(tile);
    const auto expected = tile.simulated(model, UnitFormat::bf16, UnitFormat::bf16);
    for (std::size_t i = 0; i < expected.size(); ++i)
      wrong += bits_of(tile.d[i]) != bits_of(expected[i]);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(own_units, amx_multiplies_bf16_as_its_model_does) {
  if (detected_isa() < Isa::amx) GTEST_SKIP() << "this CPU has no AMX";
  configure();
  compare_bf16(*find_unit_model(MatrixUnit::amx, UnitFormat::bf16, UnitFormat::f32),
               [](Bf16Tile& tile) { run_tile(tile, 0); });
  release();
}

TEST(own_units, amx_multiplies_bytes_as_its_model_does) {
  if (detected_isa() < Isa::amx) GTEST_SKIP() << "this CPU has no AMX";
  configure();
  const UnitModel& model = *find_unit_model(MatrixUnit::amx, UnitFormat::s8, UnitFormat::s32);
  RandomBf16 random;
  ByteTile tile;
  for (std::int64_t round = 0; round * 256 < wanted_results() / 4; ++round) {
    fill(tile, random);
    const int form = 1 + static_cast<int>(round % 4);
    run_tile(tile, form);
    const auto expected = tile.simulated(model, form < 3 ? UnitFormat::s8 : UnitFormat::u8,
                                         form % 2 ? UnitFormat::s8 : UnitFormat::u8);
    ASSERT_EQ(tile.d, expected) << "form " << form;
  }
  release();
}

// vdpbf16ps, 16 columns and one pair of k at a time.
NG_NEEDS("avx512bf16,avx512f") void multiply_pairs(Bf16Tile& tile) {
  for (std::size_t row = 0; row < 16; ++row) {
    __m512 sum = _mm512_load_ps(tile.c.data() + row * 16);
    for (std::size_t k = 0; k < 32; k += 2) {
      std::uint32_t pair;
      std::memcpy(&pair, tile.a.data() + row * 32 + k, 4);
      const auto a = reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(pair)));
      const auto b = reinterpret_cast<__m512bh>(_mm512_load_si512(tile.b.data() + k * 16));
      sum = _mm512_dpbf16_ps(sum, a, b);
    }
    _mm512_store_ps(tile.d.data() + row * 16, sum);
  }
}

TEST(own_units, avx512_bf16_multiplies_as_its_model_does) {
  if (!__builtin_cpu_supports("avx512bf16")) GTEST_SKIP() << "this CPU has no AVX512-BF16";
  compare_bf16(*find_unit_model(MatrixUnit::avx512_bf16, UnitFormat::bf16, UnitFormat::f32),
               multiply_pairs);
}

NG_NEEDS("avx512vnni,avx512f") void multiply_bytes(ByteTile& tile) {
  for (std::size_t row = 0; row < 16; ++row) {
    __m512i sum = _mm512_load_si512(tile.c.data() + row * 16);
    for (std::size_t k = 0; k < 64; k += 4) {
      std::uint32_t four;
      std::memcpy(&four, tile.a.data() + row * 64 + k, 4);
      sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi32(static_cast<int>(four)),
                                _mm512_load_si512(tile.b.data() + k * 16));
    }
    _mm512_store_si512(tile.d.data() + row * 16, sum);
  }
}

TEST(own_units, vnni_multiplies_as_its_model_does) {
  if (!__builtin_cpu_supports("avx512vnni")) GTEST_SKIP() << "this CPU has no AVX512-VNNI";
  const UnitModel& model = *find_unit_model(MatrixUnit::vnni, UnitFormat::s8, UnitFormat::s32);
  RandomBf16 random;
  ByteTile tile;
  for (std::int64_t round = 0; round * 256 < wanted_results() / 4; ++round) {
    fill(tile, random);
    multiply_bytes(tile);
    ASSERT_EQ(tile.d, tile.simulated(model, UnitFormat::u8, UnitFormat::s8));
  }
}

}  // namespace
}  // namespace narrowgauge::sim::own_units_test
