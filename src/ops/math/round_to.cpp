// SPDX-License-Identifier: Apache-2.0
#include "ops/math/round_to.h"

#include <algorithm>

#include "kernels/cpu/core/convert.h"
#include "narrowgauge/graph.h"
#include "ops/table.h"
#include "tensor/values.h"

namespace narrowgauge {

TensorTypes RoundTo::infer(const Inference& in) const {
  require(is_floating(dtype), "RoundTo: dtype must be a float type, got ", dtype);
  return {in.type(0)};
}

namespace {

void round_f32(const void* op, const float* const* in, float* out, std::int64_t count) {
  const DType dtype = static_cast<const RoundTo*>(op)->dtype;
  constexpr std::int64_t most = 512;
  alignas(64) double narrow_bits[most];  // room for any element
  for (std::int64_t i = 0; i < count; i += most) {
    const std::int64_t length = std::min(most, count - i);
    if (dtype == DType::f64) {
      std::copy_n(in[0] + i, length, out + i);
      continue;
    }
    cpu::narrow_row(in[0] + i, dtype, narrow_bits, length, nullptr);
    cpu::widen_row(dtype, narrow_bits, out + i, length);
  }
}

void round_f64(const void* op, const double* const* in, double* out, std::int64_t count) {
  const DType dtype = static_cast<const RoundTo*>(op)->dtype;
  for (std::int64_t i = 0; i < count; ++i) {
    double element = 0;
    store_element(dtype, &element, 0, in[0][i]);
    out[i] = load_element(dtype, &element, 0);
  }
}

}  // namespace

Elementwise RoundTo::elementwise() {
  Elementwise e;
  e.arity = 1;
  e.arguments = "(T x)";
  e.text = "round_to(dtype, x)";
  e.f32 = round_f32;
  e.f32_avx512 = round_f32;
  e.f64 = round_f64;
  return e;
}

}  // namespace narrowgauge

NG_OPS(round_to, narrowgauge::RoundTo)
