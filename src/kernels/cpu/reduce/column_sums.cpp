// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/reduce/column_sums.h"

#include <algorithm>
#include <array>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/lanes/simd.h"
#include "kernels/cpu/reduce/column_sums_loops.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t chunk_rows = 128;

constexpr ColumnSums baseline = ColumnSumLoops<Float8>::table();

std::int64_t chunks_of(const RowLayout& layout) { return ceil_divide(layout.rows, chunk_rows); }

auto adder_for(DType dtype) {
  static const ColumnSums& table = isa() >= Isa::avx512 ? avx512::column_sums : baseline;
  return dtype == DType::f32 ? table.f32 : dtype == DType::f16 ? table.f16 : table.bf16;
}

// Adds the chunks of `count` columns from `begin` on, in their order.
void join(const RowLayout& layout, const float* partial, std::int64_t begin, std::int64_t count,
          float* out) {
  std::array<double, strip_length> sum{};
  for (std::int64_t chunk = 0; chunk < chunks_of(layout); ++chunk)
    for (std::int64_t j = 0; j < count; ++j)
      sum[std::size_t(j)] += double(partial[chunk * layout.columns + begin + j]);
  for (std::int64_t j = 0; j < count; ++j) out[j] = float(sum[std::size_t(j)]);
}

}  // namespace

std::int64_t column_sums_workspace(const RowLayout& layout) {
  return chunks_of(layout) * layout.columns * std::int64_t(sizeof(float));
}

void column_sums(const RowLayout& layout, ConstArray x, const Array& y, void* workspace) {
  float* const partial = static_cast<float*>(workspace);
  const auto add = adder_for(x.dtype);
  const std::int64_t size = bits(x.dtype) / 8;
  parallel_for(chunks_of(layout), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t first = chunk * chunk_rows;
      float* const sums = partial + chunk * layout.columns;
      std::fill_n(sums, layout.columns, 0.0F);
      add(static_cast<const std::byte*>(x.data) + first * layout.columns * size,
          std::min(chunk_rows, layout.rows - first), layout.columns, sums);
    }
  });
  parallel_for(layout.columns, strip_length, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::array<float, strip_length> strip;
    join(layout, partial, begin, end - begin, strip.data());
    store_strip(y, begin, end - begin, strip.data());
  });
}

}  // namespace narrowgauge::cpu
