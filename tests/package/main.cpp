// SPDX-License-Identifier: Apache-2.0
// Uses an installed library: values cross its boundary, and so do its errors.
#include <cstdio>
#include <vector>

#include "narrowgauge/error.h"
#include "narrowgauge/tensor.h"
#include "narrowgauge/version.h"
#include "narrowgauge/wmma.hpp"

NG_KERNEL void ones(float* d) {
  namespace wmma = narrowgauge::wmma;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, wmma::half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, wmma::half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(a, 1.0f);
  wmma::fill_fragment(b, 1.0f);
  wmma::fill_fragment(sum, 0.0f);
  wmma::mma_sync(sum, a, b, sum);
  wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}

int main() {
  narrowgauge::wmma::ManagedArray<float> sums(256);
  narrowgauge::wmma::launch(1, 32, ones, sums.data());
  if (sums[255] != 16.0f) return 1;
  const auto tensor = narrowgauge::Tensor::from<float>({3}, std::vector<float>{0.5f, 1.0f, 2.0f});
  const auto narrow = tensor.cast(narrowgauge::DType::bf16);
  if (narrow.at(1) != 1.0) return 1;
  try {
    narrowgauge::TensorType::parse("f32[");
  } catch (const narrowgauge::UsageError& error) {
    std::printf("narrowgauge %s: %s\n", NARROWGAUGE_VERSION, error.what());
    return 0;
  }
  return 1;
}
