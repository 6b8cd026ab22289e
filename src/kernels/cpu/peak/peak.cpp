// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/peak/peak.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/machine/core_time.h"
#include "base/machine/cpu.h"
#include "base/random.h"
#include "base/threads/parallel.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge::cpu {
namespace {

using Clock = std::chrono::steady_clock;
using PeakLoop = std::int64_t (*)(const std::byte* a, const std::byte* b, std::int64_t rounds);

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// 4 rows of 3 vectors are 12 of 16 registers.
std::int64_t peak_f32_avx2(const std::byte* a, const std::byte* b, std::int64_t rounds) {
  constexpr int rows = 4, vectors = 3;
  constexpr std::int64_t lanes = 8, depth = peak_bytes / (vectors * 32);
  __m256 sums[rows][vectors] = {};
  for (std::int64_t round = 0; round < rounds; ++round) {
    asm volatile("" ::: "memory");  // each round loads again
    const auto* left = reinterpret_cast<const float*>(a);
    const auto* right = reinterpret_cast<const float*>(b);
    for (std::int64_t k = 0; k < depth; ++k, left += rows, right += vectors * lanes) {
      __m256 columns[vectors];
#pragma GCC unroll 3
      for (int j = 0; j < vectors; ++j) columns[j] = _mm256_load_ps(right + j * lanes);
#pragma GCC unroll 4
      for (int i = 0; i < rows; ++i) {
        __m256 row = _mm256_set1_ps(left[i]);
        asm("" : "+x"(row));  // not an operand of each product, which would be loaded thrice
#pragma GCC unroll 3
        for (int j = 0; j < vectors; ++j) sums[i][j] = _mm256_fmadd_ps(row, columns[j], sums[i][j]);
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < vectors; ++j) asm volatile("" : : "x"(sums[i][j]));
  return rounds * depth * rows * vectors * lanes * 2;
}

PeakLoop loop_of(Unit unit) {
  const Isa has = isa();
  switch (unit) {
    case Unit::f32:
      return has >= Isa::avx512 ? avx512::peak_f32 : peak_f32_avx2;
    case Unit::bf16:
      if (has >= Isa::amx) return amx::peak_bf16;
      return has >= Isa::bf16 ? avx512::peak_bf16 : nullptr;
    case Unit::int16:
      return has >= Isa::vnni ? avx512::peak_int16 : nullptr;
    case Unit::int8:
      if (has >= Isa::amx) return amx::peak_int8;
      return has >= Isa::vnni ? avx512::peak_int8 : nullptr;
  }
  return nullptr;
}

// Random numbers between -1 and 1, or any bytes.
Tensor random_data(Unit unit, std::string_view name) {
  const RandomStream random(1, name);
  Tensor data(DType::u8, {peak_bytes});
  const auto fill = [&]<class T>(auto value) {
    for (std::int64_t i = 0; i < peak_bytes / static_cast<std::int64_t>(sizeof(T)); ++i) {
      const T x = value(static_cast<std::uint64_t>(i));
      std::memcpy(data.data() + i * static_cast<std::int64_t>(sizeof x), &x, sizeof x);
    }
  };
  const auto number = [&](std::uint64_t i) { return 2 * random.uniform(i) - 1; };
  if (unit == Unit::f32)
    fill.operator()<float>(number);
  else if (unit == Unit::bf16)
    fill.operator()<std::uint16_t>([&](std::uint64_t i) {
      return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number(i)) >> 16);
    });
  else
    fill.operator()<std::uint32_t>([&](std::uint64_t i) { return random.bits(i); });
  return data;
}

// The best rate of the calling thread in short tries until the time is up.
double best_rate(PeakLoop loop, const std::byte* a, const std::byte* b, double seconds) {
  constexpr double try_seconds = 5e-4;
  double best = 0;
  std::int64_t rounds = 16;
  for (const auto start = Clock::now(); seconds_since(start) < seconds;) {
    const double before = thread_seconds();
    const auto done = static_cast<double>(loop(a, b, rounds));
    const double taken = thread_seconds() - before;
    if (taken < try_seconds)
      rounds *= 2;
    else
      best = std::max(best, done / taken);
  }
  return best;
}

}  // namespace

double measure_unit(Unit unit, double seconds) {
  const PeakLoop loop = loop_of(unit);
  if (!loop) return 0;
  const Tensor a = random_data(unit, "a"), b = random_data(unit, "b");
  const int threads = thread_count();
  std::vector<double> rates(static_cast<std::size_t>(threads));
  const auto start = Clock::now();
  parallel_for(threads, 1, [&](std::int64_t piece, std::int64_t) {
    // A piece that begins after the time is up would be its thread's second.
    if (seconds_since(start) < seconds)
      rates[static_cast<std::size_t>(piece)] = best_rate(loop, a.data(), b.data(), seconds);
  });
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

namespace {

void copy_past_caches(const std::byte* from, std::byte* to, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
  _mm_sfence();
}

}  // namespace

double measure_memory(double seconds) {
  // Tries are short: over before a busy neighbour, who takes turns of milliseconds, wants the core.
  constexpr std::int64_t bytes = 128 << 20, window = 4 << 20, piece = 256 << 10;
  Tensor from(DType::u8, {bytes}), to(DType::u8, {bytes});
  for (Tensor* tensor : {&from, &to}) std::memset(tensor->data(), 1, bytes);
  double best = 0;
  const auto start = Clock::now();
  for (std::int64_t at = 0; best == 0 || seconds_since(start) < seconds;) {
    const auto before = Clock::now();
    parallel_for(window, piece, [&](std::int64_t begin, std::int64_t end) {
      copy_past_caches(from.data() + at + begin, to.data() + at + begin, end - begin);
    });
    best = std::max(best, 2.0 * window / seconds_since(before));
    at = (at + window) % bytes;
  }
  return best;
}

}  // namespace narrowgauge::cpu
