// SPDX-License-Identifier: Apache-2.0
#include "ops/units/simulated_sums.h"

#include <vector>

#include "base/threads/parallel.h"
#include "kernels/cpu/core/strided_copy.h"
#include "tensor/values.h"

namespace narrowgauge {

namespace {

void copy_f64(const cpu::View& from, const double* sums, const cpu::View& to, double* out) {
  const std::int64_t count = element_count(to.dims);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, source = 0, target = 0;
    for (std::size_t axis = to.dims.size(); axis-- > 0;) {
      source += rest % to.dims[axis] * from.strides[axis];
      target += rest % to.dims[axis] * to.strides[axis];
      rest /= to.dims[axis];
    }
    out[target] = sums[source];
  }
}

template <class T>
void add_values(const std::vector<double>& row, std::int64_t rows, T* sums) {
  const auto columns = static_cast<std::int64_t>(row.size());
  parallel_for(rows, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        sums[i * columns + j] += static_cast<T>(row[static_cast<std::size_t>(j)]);
  });
}

}  // namespace

void store_sums(const cpu::View& from, const void* sums, const cpu::View& to, void* out,
                std::int64_t* flushed) {
  if (to.dtype == DType::f64)
    copy_f64(from, static_cast<const double*>(sums), to, static_cast<double*>(out));
  else
    copy_strided(from, sums, to, out, flushed);
}

void add_row(const Operand& bias, const void* values, std::int64_t rows, std::int64_t columns,
             void* sums) {
  std::vector<double> row;
  for (std::int64_t j = 0; j < columns; ++j)
    row.push_back(load_element(bias.dtype, values, j * bias.strides[0]));
  if (bias.dtype == DType::f64)
    add_values(row, rows, static_cast<double*>(sums));
  else
    add_values(row, rows, static_cast<float*>(sums));
}

}  // namespace narrowgauge
