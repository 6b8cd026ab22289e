// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantized_conv.h"
#include "samples/quantized/bytes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<QuantizedMatMul>> quantized_mat_mul_samples() {
  const SampleInput none = no_sample();
  return {
      {{.low = 0},
       {unsigned_bytes("u8[3,70]"), signed_bytes("i8[70,35]"), scales("f32[]"),
        unsigned_bytes("u8[]"), scales("f32[35]"), none, sample("f32[35]"), none, none, none,
        sample("f32[]", 0.5, 1), signed_bytes("i8[]")}},
      {{.transposed = true},
       {signed_bytes("i8[2,7,33]"), unsigned_bytes("u8[18,33]"), scales("f32[]"),
        signed_bytes("i8[]"), scales("f32[]"), unsigned_bytes("u8[]"), none,
        unsigned_bytes("u8[2,7,18]"), scales("f32[]"), unsigned_bytes("u8[]"),
        sample("f32[]", 0.5, 1), unsigned_bytes("u8[]")}},
      {{.high = 1},
       {unsigned_bytes("u8[2,3,64]"), signed_bytes("i8[64,16]"), scales("f32[1]"), none,
        scales("f32[16]"), none, none, sample("f32[2,3,16]"), none, none, none, none}},
      {{.dtype = DType::bf16},
       {signed_bytes("i8[4,33]"), signed_bytes("i8[33,40]"), scales("f32[]"), signed_bytes("i8[]"),
        scales("f32[40]"), none, sample("f32[40]"), none, none, none, none, none}},
      {{.gelu = true},
       {unsigned_bytes("u8[4,33]"), signed_bytes("i8[33,40]"), scales("f32[]"),
        unsigned_bytes("u8[]"), scales("f32[40]"), none, sample("f32[40]"), none, none, none,
        sample("f32[]", 0.2, 0.5), unsigned_bytes("u8[]")}},
      {{},
       {unsigned_bytes("u8[5]"), signed_bytes("i8[5,3]"), scales("f32[]"), unsigned_bytes("u8[]"),
        scales("f32[]"), none, none, none, none, none, none, none}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(quantized_matmul, quantized_mat_mul_samples())
