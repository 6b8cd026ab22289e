// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/update/gradient_health.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t chunk_elements = 16384;
constexpr std::size_t lanes = 16;

std::int64_t chunks_of(const GradientBuffer& gradient) {
  return ceil_divide(gradient.count, chunk_elements);
}

// Squares of finite f32 values neither overflow nor vanish in f64, so the sum is finite exactly if
// all values are.
double baseline_square_sum(ConstArray array, std::int64_t begin, std::int64_t end) {
  alignas(64) std::array<float, strip_length> buffer;
  std::array<double, lanes> sum{};
  for (std::int64_t at = begin; at < end; at += strip_length) {
    const std::int64_t count = std::min(strip_length, end - at);
    const float* value = load_strip(array, at, count, buffer.data());
    std::int64_t i = 0;
    for (; i + std::int64_t(lanes) <= count; i += std::int64_t(lanes))
      for (std::size_t l = 0; l < lanes; ++l) {
        const double wide = double(value[i + std::int64_t(l)]);
        sum[l] = std::fma(wide, wide, sum[l]);
      }
    for (std::size_t l = 0; i < count; ++i, ++l)
      sum[l] = std::fma(double(value[i]), double(value[i]), sum[l]);
  }
  for (std::size_t half = lanes / 2; half > 0; half /= 2)
    for (std::size_t l = 0; l < half; ++l) sum[l] += sum[l + half];
  return sum[0];
}

auto square_sum_of_machine() {
  return isa() >= Isa::avx512 ? avx512::square_sum : baseline_square_sum;
}

}  // namespace

double square_sum(ConstArray array, std::int64_t begin, std::int64_t end) {
  return square_sum_of_machine()(array, begin, end);
}

std::int64_t gradient_health_workspace(std::span<const GradientBuffer> gradients) {
  std::int64_t words = std::int64_t(gradients.size()) + 1;
  for (const GradientBuffer& gradient : gradients) words += chunks_of(gradient);
  return words * std::int64_t(sizeof(double));
}

GradientHealth gradient_health(std::span<const GradientBuffer> gradients, double multiplier,
                               void* workspace) {
  auto* first_chunk = static_cast<std::int64_t*>(workspace);  // of each buffer, and the end
  first_chunk[0] = 0;
  for (std::size_t g = 0; g < gradients.size(); ++g)
    first_chunk[g + 1] = first_chunk[g] + chunks_of(gradients[g]);
  std::int64_t* const end_of_list = first_chunk + gradients.size() + 1;
  auto* partial = reinterpret_cast<double*>(first_chunk + gradients.size() + 1);
  const auto buffer_of = [&](std::int64_t chunk) {
    return std::size_t(std::upper_bound(first_chunk, end_of_list, chunk) - first_chunk - 1);
  };
  const std::int64_t chunks = first_chunk[gradients.size()];
  const auto sum_of = square_sum_of_machine();
  parallel_for(chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::size_t g = buffer_of(chunk);
      const std::int64_t from = (chunk - first_chunk[g]) * chunk_elements;
      const std::int64_t to = std::min(from + chunk_elements, gradients[g].count);
      partial[chunk] = sum_of(gradients[g].array, from, to);
    }
  });
  GradientHealth health;
  double sum = 0;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    sum += partial[chunk];
    if (health.finite && !std::isfinite(partial[chunk])) {
      health.finite = false;
      health.first_not_finite = std::int64_t(buffer_of(chunk));
    }
  }
  health.sum_of_squares = sum * multiplier * multiplier;
  return health;
}

}  // namespace narrowgauge::cpu
