// SPDX-License-Identifier: Apache-2.0
// d = alpha a b + beta c on warp matrix functions, from one source: tiles staged in shared memory,
// four warps a block, edges padded with zeros.
//
//   g++ -std=c++20 -O2 examples/wmma_gemm.cpp -I include -pthread      computes as GPUs would
//   nvcc -x cu -std=c++20 -arch=sm_80 examples/wmma_gemm.cpp -I include    runs on a GPU
//
// Prints, for each unit, the largest difference from sums in double and a number for all bits of
// the result, then how many results differ between units. Exit code 77: no GPU to run on.
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <narrowgauge/wmma.hpp>
#include <random>
#include <string>
#include <vector>

namespace ng = narrowgauge;
namespace wmma = narrowgauge::wmma;
using wmma::half;

// Row-major: a [rows, depth], b [depth, columns], c and d [rows, columns].
struct Problem {
  int rows, columns, depth;
  float alpha, beta;
};

// A block makes a tile of 64 x 64, a warp a quarter of it: 2 x 2 fragments.
constexpr int tile = 64, step = 32, part = 16, warps = 4;

// Where a tile begins in its matrix.
struct Corner {
  int row, column;
};

// Copies a tile, with zeros where it reaches over the matrix's edge.
template <int Rows, int Columns, int Stride>
NG_DEVICE void stage(half* to, const half* from, int rows, int columns, Corner corner) {
  for (int i = wmma::thread_rank(); i < Rows * Columns; i += wmma::thread_count()) {
    const int row = corner.row + i / Columns, column = corner.column + i % Columns;
    const bool inside = row < rows && column < columns;
    to[i / Columns * Stride + i % Columns] = inside ? from[row * columns + column] : half(0.0F);
  }
}

template <int Stride>
NG_DEVICE void finish(const Problem& p, const float* sums, const float* c, float* d,
                      Corner corner) {
  for (int i = wmma::thread_rank(); i < tile * tile; i += wmma::thread_count()) {
    const int row = corner.row + i / tile, column = corner.column + i % tile;
    if (row >= p.rows || column >= p.columns) continue;
    const int place = row * p.columns + column;
    // Written out, since compilers differ in whether they make an FMA of a product and a sum.
    d[place] = fmaf(p.alpha, sums[i / tile * Stride + i % tile], p.beta * c[place]);
  }
}

NG_KERNEL void gemm(Problem p, const half* a, const half* b, const float* c, float* d) {
  // 32 bytes more than a row needs keep rows aligned and out of each other's memory banks.
  constexpr int a_stride = step + 16, b_stride = tile + 16, sum_stride = tile + 4;
  NG_SHARED(half, a_tile, [tile * a_stride]);
  NG_SHARED(half, b_tile, [step * b_stride]);
  NG_SHARED(float, sums, [tile * sum_stride]);
  const int first_row = tile * static_cast<int>(wmma::block_index().y);
  const int first_column = tile * static_cast<int>(wmma::block_index().x);
  const int warp_row = wmma::warp_rank() / 2 * 32, warp_column = wmma::warp_rank() % 2 * 32;

  wmma::fragment<wmma::accumulator, part, part, part, float> sum[2][2];
  for (auto& row : sum)
    for (auto& fragment : row) wmma::fill_fragment(fragment, 0.0F);
  for (int first = 0; first < p.depth; first += step) {
    stage<tile, step, a_stride>(a_tile, a, p.rows, p.depth, {first_row, first});
    stage<step, tile, b_stride>(b_tile, b, p.depth, p.columns, {first, first_column});
    wmma::sync_threads();
    for (int k = 0; k < step; k += part) {
      wmma::fragment<wmma::matrix_a, part, part, part, half, wmma::row_major> left[2];
      wmma::fragment<wmma::matrix_b, part, part, part, half, wmma::row_major> right[2];
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(left[i], a_tile + (warp_row + i * part) * a_stride + k, a_stride);
        wmma::load_matrix_sync(right[i], b_tile + k * b_stride + warp_column + i * part, b_stride);
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
    }
    wmma::sync_threads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      float* to = sums + (warp_row + i * part) * sum_stride + warp_column + j * part;
      wmma::store_matrix_sync(to, sum[i][j], sum_stride, wmma::mem_row_major);
    }
  wmma::sync_threads();
  finish<sum_stride>(p, sums, c, d, {first_row, first_column});
}

struct Data {
  explicit Data(const Problem& p)
      : problem(p),
        a(size(p.rows, p.depth)),
        b(size(p.depth, p.columns)),
        c(size(p.rows, p.columns)),
        d(size(p.rows, p.columns)) {
    std::mt19937 random(7);  // the same numbers with every library, unlike its distributions
    const auto next = [&] { return static_cast<float>(random() >> 8) * 0x1p-23F - 1; };
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = half(next());
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = half(next());
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = next();
  }
  static std::size_t size(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }

  Problem problem;
  wmma::ManagedArray<half> a, b;
  wmma::ManagedArray<float> c, d;
};

std::vector<float> multiply(Data& data) {
  const Problem& p = data.problem;
  const wmma::dim3 blocks(static_cast<unsigned>((p.columns + tile - 1) / tile),
                          static_cast<unsigned>((p.rows + tile - 1) / tile));
  wmma::launch(blocks, 32 * warps, gemm, p, data.a.data(), data.b.data(), data.c.data(),
               data.d.data());
  return std::vector<float>(data.d.data(), data.d.data() + data.d.size());
}

double largest_error(const Data& data, const std::vector<float>& d) {
  const Problem& p = data.problem;
  double largest = 0;
  for (int row = 0; row < p.rows; ++row)
    for (int column = 0; column < p.columns; ++column) {
      double sum = 0;
      for (int k = 0; k < p.depth; ++k)
        sum += static_cast<double>(static_cast<float>(data.a[Data::size(row, p.depth) + k])) *
               static_cast<float>(data.b[Data::size(k, p.columns) + column]);
      const std::size_t place = Data::size(row, p.columns) + static_cast<std::size_t>(column);
      const double expected = p.alpha * sum + static_cast<double>(p.beta) * data.c[place];
      largest = std::fmax(largest, std::fabs(expected - d[place]));
    }
  return largest;
}

// FNV-1a over the bits of all results.
std::uint64_t number_of_bits(const std::vector<float>& d) {
  std::uint64_t number = 0xcbf29ce484222325;
  for (const float value : d) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    for (int i = 0; i < 4; ++i) number = (number ^ (bits >> (8 * i) & 0xff)) * 0x100000001b3;
  }
  return number;
}

void print(const std::string& unit, const Data& data, const std::vector<float>& d) {
  std::printf("%-6s largest error %.3g, bits %016" PRIx64 "\n", unit.c_str(),
              largest_error(data, d), number_of_bits(d));
}

void compare_units(Data& data) {
  using enum ng::MatrixUnit;
  const std::vector<ng::MatrixUnit> units{v100, t4, a100, ada, h100, b200, ieee};
  std::vector<std::vector<float>> results;
  for (const ng::MatrixUnit unit : units) {
    wmma::use_unit(unit);
    results.push_back(multiply(data));
    print(std::string(ng::name(unit)), data, results.back());
  }
  for (std::size_t i = 1; i < units.size(); ++i) {
    std::size_t differ = 0;
    for (std::size_t k = 0; k < results[i].size(); ++k) differ += results[i][k] != results[0][k];
    std::printf("%s differs from v100 in %zu of %zu results\n",
                std::string(ng::name(units[i])).c_str(), differ, results[i].size());
  }
}

int main() {
  try {
    if (!wmma::has_device()) {
      std::puts("skipped: there is no GPU");
      return 77;
    }
    Data data({200, 150, 170, 1.25F, -0.5F});
    if (wmma::runs_on_host) {
      compare_units(data);
    } else {
      const auto unit = wmma::executing_unit();
      print(unit ? std::string(ng::name(*unit)) : "other", data, multiply(data));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
