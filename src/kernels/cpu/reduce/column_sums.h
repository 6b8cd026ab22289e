// SPDX-License-Identifier: Apache-2.0
// Sums of the columns of dense rows: gradients of biases. Eight rows at a time are summed in f32
// registers, 128 rows in f32, the rest in double; bits do not depend on the number of threads.
#pragma once

#include "kernels/cpu/normalization/layer_norm.h"

namespace narrowgauge::cpu {

std::int64_t column_sums_workspace(const RowLayout& layout);  // bytes
void column_sums(const RowLayout& layout, ConstArray x, const Array& y, void* workspace);

// Adds `count` rows to sums[j]; x begins at one of its rows.
struct ColumnSums {
  void (*f32)(const void* x, std::int64_t count, std::int64_t columns, float* sums);
  void (*f16)(const void* x, std::int64_t count, std::int64_t columns, float* sums);
  void (*bf16)(const void* x, std::int64_t count, std::int64_t columns, float* sums);
};
namespace avx512 {
extern const ColumnSums column_sums;
}

}  // namespace narrowgauge::cpu
