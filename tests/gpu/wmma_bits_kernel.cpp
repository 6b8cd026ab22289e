// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <narrowgauge/wmma.hpp>
#include <string>

#include "wmma_bits.h"

namespace narrowgauge::test {
namespace {

namespace wmma = narrowgauge::wmma;

constexpr int warps = 4;

template <class T, class S, int Depth>
NG_KERNEL void multiply_tiles(const S* a, const S* b, const float* c, float* d, int count) {
  const int first = static_cast<int>(wmma::block_index().x) * warps + wmma::warp_rank();
  const int step = static_cast<int>(wmma::grid_size().x) * warps;
  for (int i = first; i < count; i += step) {
    wmma::fragment<wmma::matrix_a, 16, 16, Depth, T, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, Depth, T, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, Depth, float> sum;
    wmma::load_matrix_sync(left, a + i * 16 * Depth, Depth);
    wmma::load_matrix_sync(right, b + i * Depth * 16, 16);
    wmma::load_matrix_sync(sum, c + i * 256, 16, wmma::mem_row_major);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d + i * 256, sum, 16, wmma::mem_row_major);
  }
}

template <class T, class S, int Depth>
void multiply(const Tiles& tiles) {
  const auto count = static_cast<std::size_t>(tiles.count);
  wmma::ManagedArray<S> a(count * 16 * Depth), b(count * Depth * 16);
  wmma::ManagedArray<float> c(count * 256), d(count * 256);
  std::memcpy(static_cast<void*>(a.data()), tiles.a, a.size() * sizeof(S));
  std::memcpy(static_cast<void*>(b.data()), tiles.b, b.size() * sizeof(S));
  std::memcpy(c.data(), tiles.c, c.size() * sizeof(float));
  const auto blocks = static_cast<unsigned>(std::clamp(tiles.count / warps, 1, 1024));
  wmma::launch(blocks, 32 * warps, multiply_tiles<T, S, Depth>, a.data(), b.data(), c.data(),
               d.data(), tiles.count);
  std::memcpy(tiles.d, d.data(), d.size() * sizeof(float));
}

void multiply(TileFormat format, const Tiles& tiles) {
  switch (format) {
    case TileFormat::f16:
      return multiply<wmma::half, wmma::half, 16>(tiles);
    case TileFormat::bf16:
      return multiply<wmma::bfloat16, wmma::bfloat16, 16>(tiles);
    case TileFormat::tf32:
      return multiply<wmma::precision::tf32, float, 8>(tiles);
  }
}

}  // namespace

#if defined(__CUDACC__)
void multiply_on_gpu(TileFormat format, const Tiles& tiles) { multiply(format, tiles); }

const char* gpu_unit() {
  static std::string text;
  const auto unit = wmma::has_device() ? wmma::executing_unit() : std::nullopt;
  text = unit ? name(*unit) : "";
  return text.c_str();
}
#else
void multiply_on_host(TileFormat format, const Tiles& tiles) { multiply(format, tiles); }
#endif

}  // namespace narrowgauge::test
