// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/contraction/gemm_epilogue.h"

#include <algorithm>
#include <atomic>

#include "base/threads/parallel.h"
#include "kernels/cpu/convert/convert.h"
#include "tensor/values.h"

namespace narrowgauge::cpu {

namespace {

constexpr std::int64_t strip = 256;
constexpr std::int64_t elements_each = 16384;  // that are worth a thread's while

// `count` values from `offset`, `stride` apart, as T.
template <class T>
void load(const View& from, const void* data, std::int64_t offset, std::int64_t count, T* out) {
  const std::int64_t stride = from.strides[1];
  if constexpr (std::is_same_v<T, float>) {
    if (stride == 1) return widen_row(from.dtype, at_offset(data, from.dtype, offset), out, count);
  }
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(load_element(from.dtype, data, offset + i * stride));
}

// Stores the results of a strip. Returns how many became zero.
std::int64_t store(const View& to, void* data, std::int64_t offset, std::int64_t count,
                   const float* in) {
  std::int64_t flushed = 0;
  for (std::int64_t i = 0; to.strides[1] != 1 && i < count; ++i)
    narrow_row(in + i, to.dtype, at_offset(data, to.dtype, offset + i * to.strides[1]), 1,
               &flushed);
  if (to.strides[1] == 1)
    narrow_row(in, to.dtype, at_offset(data, to.dtype, offset), count, &flushed);
  return flushed;
}

std::int64_t store(const View& to, void* data, std::int64_t offset, std::int64_t count,
                   const double* in) {
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<double*>(data)[offset + i * to.strides[1]] = in[i];
  return 0;
}

template <class T>
std::int64_t finish_row(const GemmEpilogue& epilogue, std::int64_t row, const void* product,
                        const void* c, void* y) {
  const std::int64_t columns = epilogue.y.dims[1];
  const T alpha = static_cast<T>(epilogue.alpha), beta = static_cast<T>(epilogue.beta);
  const T* const sums = static_cast<const T*>(product) + row * columns;
  T results[strip], addends[strip];
  std::int64_t flushed = 0;
  for (std::int64_t begin = 0; begin < columns; begin += strip) {
    const std::int64_t count = std::min(strip, columns - begin);
    for (std::int64_t i = 0; i < count; ++i) results[i] = alpha * sums[begin + i];
    if (epilogue.c) {
      const Dims& strides = epilogue.c->strides;
      load(*epilogue.c, c, row * strides[0] + begin * strides[1], count, addends);
      for (std::int64_t i = 0; i < count; ++i) results[i] += beta * addends[i];
    }
    const Dims& strides = epilogue.y.strides;
    flushed += store(epilogue.y, y, row * strides[0] + begin * strides[1], count, results);
  }
  return flushed;
}

}  // namespace

void gemm_epilogue(const GemmEpilogue& epilogue, const void* product, const void* c, void* y,
                   std::int64_t* flushed) {
  const std::int64_t rows = epilogue.y.dims[0];
  const std::int64_t columns = std::max<std::int64_t>(epilogue.y.dims[1], 1);
  std::atomic<std::int64_t> zeros{0};
  parallel_for(rows, std::max<std::int64_t>(elements_each / columns, 1),
               [&](std::int64_t begin, std::int64_t end) {
                 std::int64_t mine = 0;
                 for (std::int64_t row = begin; row < end; ++row)
                   mine += epilogue.y.dtype == DType::f64
                               ? finish_row<double>(epilogue, row, product, c, y)
                               : finish_row<float>(epilogue, row, product, c, y);
                 zeros.fetch_add(mine, std::memory_order_relaxed);
               });
  if (flushed) *flushed += zeros.load();
}

}  // namespace narrowgauge::cpu
