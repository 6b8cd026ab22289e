// SPDX-License-Identifier: Apache-2.0
// Compares a GPU's wmma with the host's, bit by bit, on random tiles of f16, bf16 and tf32.
//
//   wmma_bits [ELEMENTS] [UNIT]
//
// ELEMENTS (10^8) are compared in each format, with the host as UNIT, or as the GPU's own. Exit
// code 0: all are equal, 1: some differ, 77: there is no GPU.
#include "wmma_bits.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <narrowgauge/wmma.hpp>
#include <string>
#include <vector>

#include "random_bits.h"

namespace narrowgauge::test {
namespace {

struct Batch {
  Batch(TileFormat format, int tiles, Random& random) : count(tiles) {
    const int depth = tile_depth(format);
    for (int i = 0; i < tiles; ++i) {
      const auto values = static_cast<Values>(i % kinds_of_values);
      for (int j = 0; j < 16 * depth; ++j) {
        put(a, format, operand_bits(random, values, -149));
        put(b, format, operand_bits(random, values, -149));
      }
      for (int j = 0; j < 256; ++j) c.push_back(sum_bits(random, values, -149));
    }
    d.resize(c.size());
  }
  Tiles tiles() { return {a.data(), b.data(), c.data(), d.data(), count}; }

  std::vector<unsigned char> a, b;
  std::vector<std::uint32_t> c, d;
  int count;

 private:
  static void put(std::vector<unsigned char>& to, TileFormat format, std::uint32_t bits) {
    if (format == TileFormat::f16) bits = wmma::bits_of(wmma::half(std::bit_cast<float>(bits)));
    if (format == TileFormat::bf16) bits >>= 16;
    const int bytes = format == TileFormat::tf32 ? 4 : 2;
    for (int i = 0; i < bytes; ++i) to.push_back(static_cast<unsigned char>(bits >> (8 * i)));
  }
};

// Results that differ, of at least `elements`.
std::int64_t differences(TileFormat format, std::int64_t elements, std::int64_t& compared) {
  constexpr int tiles = 1 << 14;
  Random random(42 + static_cast<std::uint64_t>(format));
  std::int64_t differ = 0;
  for (compared = 0; compared < elements; compared += tiles * 256) {
    Batch batch(format, tiles, random);
    multiply_on_gpu(format, batch.tiles());
    const auto of_gpu = batch.d;
    multiply_on_host(format, batch.tiles());
    for (std::size_t i = 0; i < of_gpu.size(); ++i) {
      if (of_gpu[i] == batch.d[i]) continue;
      if (++differ <= 5)
        std::printf("  tile %zu, element %zu: GPU %08x, host %08x\n", i / 256, i % 256, of_gpu[i],
                    batch.d[i]);
    }
  }
  return differ;
}

int run(const std::vector<std::string>& arguments) {
  const std::string of_gpu = gpu_unit();
  if (of_gpu.empty()) {
    std::puts("[SKIP] there is no GPU whose unit is known");
    return 77;
  }
  const std::int64_t elements = arguments.empty() ? 100'000'000 : std::stoll(arguments[0]);
  const auto unit = parse_matrix_unit(arguments.size() > 1 ? arguments[1] : of_gpu);
  if (!unit) throw std::invalid_argument("no unit is called " + arguments[1]);
  wmma::use_unit(*unit);
  constexpr const char* names[] = {"f16", "bf16", "tf32"};
  bool is_equal = true;
  for (const TileFormat format : {TileFormat::f16, TileFormat::bf16, TileFormat::tf32}) {
    std::int64_t compared = 0;
    const std::int64_t differ = differences(format, elements, compared);
    std::printf("%s as %s: %lld of %lld differ\n", names[static_cast<int>(format)],
                std::string(name(*unit)).c_str(), static_cast<long long>(differ),
                static_cast<long long>(compared));
    is_equal = is_equal && differ == 0;
  }
  return is_equal ? 0 : 1;
}

}  // namespace
}  // namespace narrowgauge::test

int main(int count, char** arguments) {
  try {
    return narrowgauge::test::run(std::vector<std::string>(arguments + 1, arguments + count));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wmma_bits: %s\n", error.what());
    return 2;
  }
}
