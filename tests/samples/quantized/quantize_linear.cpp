// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantize_linear.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<QuantizeLinear>> quantize_linear_samples() {
  const auto scale = [](std::string_view type) { return sample(type, 0.01, 0.02); };
  return {
      {{}, {sample("f32[2,3,5]"), scale("f32[]"), sample("u8[]", 100, 150)}},
      {{.axis = 2}, {sample("f32[2,3,5]"), scale("f32[5]"), sample("i8[5]", -9, 9)}},
      {{.axis = -2}, {sample("f32[2,3,700]"), scale("f32[3]"), sample("u8[3]", 90, 130)}},
      {{.output_dtype = DType::i8}, {sample("f32[33]"), scale("f32[1]")}},
      {{.axis = 1, .block_size = 2},
       {sample("f32[2,5,3]"), scale("f32[2,3,3]"), sample("i8[2,3,3]", -9, 9)}},
      {{.axis = 1, .block_size = 5}, {sample("f32[2,5,3]"), scale("f32[2,1,3]")}},
      {{.output_dtype = DType::i16}, {sample("f32[33]"), scale("f32[]")}},
      {{}, {sample("f32[33]"), scale("f32[]"), sample("u16[]", 100, 150)}},
      {{.output_dtype = DType::i4}, {sample("f32[8]"), sample("f32[]", 0.2, 0.4)}},
      {{.output_dtype = DType::u2}, {sample("f32[9]", -1, 4), sample("f32[]", 0.5, 1)}},
      {{.output_dtype = DType::f8e4m3fnuz}, {sample("f32[33]", -900, 900), sample("f32[]", 1, 2)}},
      {{.output_dtype = DType::f8e4m3fn}, {sample("f32[33]", -900, 900), sample("f32[]", 1, 2)}},
      {{.output_dtype = DType::f8e5m2, .saturate = 0},
       {sample("f32[33]", -9e4, 9e4), sample("f32[]", 0.5, 1)}},
      {{}, {sample("i32[2,3]", -999, 999), sample("f32[]", 3, 4), sample("u8[]", 0, 255)}},
      {{.axis = -1, .block_size = 32, .output_dtype = DType::f4e2m1},
       {sample("f32[3,70]", -9, 9), sample("f8e8m0[3,3]", 0.25, 4)}},
      {{.axis = -1, .block_size = 16, .output_dtype = DType::f4e2m1},
       {sample("f32[2,3,40]", -9, 9), sample("f8e4m3fn[2,3,3]", 0.25, 4)}},
      {{.axis = 1, .block_size = 32, .output_dtype = DType::f8e4m3fn},
       {sample("f32[2,70,3]", -900, 900), sample("f32[2,3,3]", 0.5, 1.5)}},
      {{.axis = 0, .output_dtype = DType::f8e5m2},
       {sample("f32[5,700]", -9e4, 9e4), sample("f8e8m0[5]", 0.5, 2)}},
  };
}

std::vector<Sample<DequantizeLinear>> dequantize_linear_samples() {
  const auto scale = [](std::string_view type) { return sample(type, 0.01, 0.02); };
  return {
      {{}, {sample("u8[2,3,5]", 0, 255), scale("f32[]"), sample("u8[]", 100, 150)}},
      {{.axis = 0}, {sample("i8[2,3,5]", -128, 127), scale("f32[2]"), sample("i8[2]", -9, 9)}},
      {{}, {sample("i8[2,3,700]", -128, 127), scale("f32[3]")}},
      {{.block_size = 2},
       {sample("u8[2,5,3]", 0, 255), scale("f32[2,3,3]"), sample("u8[2,3,3]", 0, 9)}},
      {{.block_size = 5}, {sample("u8[2,5,3]", 0, 255), scale("f32[2,1,3]")}},
      {{}, {sample("i32[2,3]", -99999, 99999), scale("f32[]")}},
      {{}, {sample("i4[8]", -8, 7), scale("f32[]"), sample("i4[]", -3, 3)}},
      {{}, {sample("u16[8]", 0, 65535), scale("f32[]"), sample("u16[]", 0, 65535)}},
      {{}, {sample("i2[9]", -2, 1), scale("f32[]"), sample("i2[]", -2, 1)}},
      {{}, {sample("f8e5m2fnuz[9]", -99, 99), scale("f32[]")}},
      {{-1, 32, DType::f32}, {sample("f4e2m1[3,70]", -6, 6), sample("f8e8m0[3,3]", 0.25, 4)}},
      {{-1, 16, DType::bf16}, {sample("f4e2m1[2,3,40]", -6, 6), sample("f8e4m3fn[2,3,3]", 1, 4)}},
      {{.block_size = 32}, {sample("f8e4m3fn[2,70,3]", -400, 400), sample("f32[2,3,3]", 0.5, 1)}},
      {{0, 0, DType::f16}, {sample("f8e5m2[5,700]", -99, 99), sample("f8e8m0[5]", 0.5, 2)}},
  };
}

std::vector<Sample<DynamicQuantizeLinear>> dynamic_quantize_linear_samples() {
  return {{{}, {sample("f32[2,3,5]")}},
          {{}, {sample("f32[40000]", 1, 3)}},
          {{}, {sample("f32[7]", -3, -1)}},
          {{}, {sample("f32[3]", 0, 0)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(quantize_linear, quantize_linear_samples(), dequantize_linear_samples(),
           dynamic_quantize_linear_samples())
