// SPDX-License-Identifier: Apache-2.0
// Uses an installed library: values cross its boundary, and so do its errors.
#include <cstdio>
#include <vector>

#include "narrowgauge/error.h"
#include "narrowgauge/tensor.h"
#include "narrowgauge/version.h"

int main() {
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
