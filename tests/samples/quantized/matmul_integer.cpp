// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/matmul_integer.h"

#include "samples/quantized/bytes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<MatMulInteger>> mat_mul_integer_samples() {
  return {
      {{}, {unsigned_bytes("u8[3,4]"), signed_bytes("i8[4,5]")}},
      {{},
       {unsigned_bytes("u8[33,70]"), unsigned_bytes("u8[70,35]"), unsigned_bytes("u8[]"),
        unsigned_bytes("u8[1]")}},
      {{},
       {signed_bytes("i8[2,3,4]"), unsigned_bytes("u8[4,5]"), signed_bytes("i8[3]"),
        unsigned_bytes("u8[5]")}},
      {{},
       {signed_bytes("i8[2,1,3,4]"), signed_bytes("i8[3,4,2]"), no_sample(),
        signed_bytes("i8[1,1,2]")}},
      {{}, {signed_bytes("i8[4]"), signed_bytes("i8[4]"), signed_bytes("i8[1]")}},
      {{}, {unsigned_bytes("u8[4]"), signed_bytes("i8[2,4,3]")}},
      {{}, {unsigned_bytes("u8[2,3,4]"), signed_bytes("i8[4]")}},
      {{}, {unsigned_bytes("u8[2,0]"), signed_bytes("i8[0,3]")}},
  };
}

std::vector<Sample<QLinearMatMul>> q_linear_mat_mul_samples() {
  const auto product = [](SampleInput a, SampleInput a_scale, SampleInput a_zero, SampleInput b,
                          SampleInput b_scale, SampleInput b_zero, SampleInput y_zero) {
    return Sample<QLinearMatMul>{
        {},
        {std::move(a), std::move(a_scale), std::move(a_zero), std::move(b), std::move(b_scale),
         std::move(b_zero), sample("f32[]", 0.5, 1), std::move(y_zero)}};
  };
  return {
      product(unsigned_bytes("u8[3,4]"), scales("f32[]"), unsigned_bytes("u8[]"),
              signed_bytes("i8[4,5]"), scales("f32[5]"), signed_bytes("i8[5]"),
              signed_bytes("i8[]")),
      product(signed_bytes("i8[2,33,70]"), scales("f32[33]"), signed_bytes("i8[33]"),
              unsigned_bytes("u8[70,35]"), scales("f32[]"), unsigned_bytes("u8[1]"),
              unsigned_bytes("u8[1]")),
      product(signed_bytes("i8[3,4]"), scales("f32[3,1]"), signed_bytes("i8[3,1]"),
              signed_bytes("i8[4,5]"), scales("f32[1,5]"), signed_bytes("i8[1,5]"),
              unsigned_bytes("u8[]")),
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(matmul_integer, mat_mul_integer_samples(), q_linear_mat_mul_samples())
