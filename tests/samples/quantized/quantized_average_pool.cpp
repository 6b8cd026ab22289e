// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantized_average_pool.h"

#include "samples/quantized/bytes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<QuantizedAveragePool>> quantized_average_pool_samples() {
  const SampleInput none = no_sample();
  const auto scale = [](std::string_view type) { return sample(type, 0.01, 0.02); };
  return {
      {{.kernel_shape = {3, 3}, .pads = {1, 1, 1, 1}},
       {unsigned_bytes("u8[2,37,5,6]"), scale("f32[]"), unsigned_bytes("u8[]"), scale("f32[]"),
        unsigned_bytes("u8[]")}},
      {{.count_include_pad = 1, .kernel_shape = {3, 2}, .pads = {1, 0, 1, 1}, .strides = {2, 1}},
       {signed_bytes("i8[1,70,5,4]"), scale("f32[]"), signed_bytes("i8[]"), scale("f32[1]"),
        signed_bytes("i8[1]")}},
      {{}, {unsigned_bytes("u8[2,17,13,12]"), scale("f32[]"), none, none, none}},
      {{},
       {signed_bytes("i8[2,33,12,13]"), scale("f32[]"), none, scale("f32[]"),
        unsigned_bytes("u8[]")}},
      {{.ceil_mode = 1,
        .count_include_pad = 1,
        .kernel_shape = {3, 3},
        .pads = {1, 1, 1, 1},
        .strides = {2, 2}},
       {unsigned_bytes("u8[1,16,6,4]"), scale("f32[]"), unsigned_bytes("u8[]"), none, none}},
      {{.auto_pad = "SAME_LOWER", .kernel_shape = {3}, .strides = {2}},
       {signed_bytes("i8[2,3,8]"), scale("f32[]"), signed_bytes("i8[]"), none, none}},
      {{.dilations = {2, 1, 2}, .kernel_shape = {2, 2, 2}, .pads = {1, 0, 1, 0, 1, 1}},
       {unsigned_bytes("u8[1,18,4,3,5]"), scale("f32[]"), unsigned_bytes("u8[]"), scale("f32[]"),
        signed_bytes("i8[]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(quantized_average_pool, quantized_average_pool_samples())
