// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/quantized_conv.h"

#include "samples/quantized/bytes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<QuantizedConv>> quantized_conv_samples() {
  const SampleInput none = no_sample();
  return {
      {{.pads = {1, 1, 1, 1}, .low = 0},
       {unsigned_bytes("u8[2,3,5,6]"), signed_bytes("i8[20,3,3,3]"), scales("f32[]"),
        unsigned_bytes("u8[]"), scales("f32[20]"), none, sample("f32[20]"),
        unsigned_bytes("u8[2,20,5,6]"), scales("f32[]"), unsigned_bytes("u8[]"),
        sample("f32[]", 0.2, 0.5), unsigned_bytes("u8[]")}},
      {{.strides = {2, 2}, .high = 3},
       {signed_bytes("i8[1,5,5,5]"), unsigned_bytes("u8[17,5,1,1]"), scales("f32[]"),
        signed_bytes("i8[]"), scales("f32[1]"), unsigned_bytes("u8[1]"), none,
        sample("f32[1,17,3,3]"), none, none, none, none}},
      {{.dilations = {2, 1}, .group = 2, .pads = {0, 1, 1, 0}},
       {unsigned_bytes("u8[1,4,6,3]"), signed_bytes("i8[6,2,3,2]"), scales("f32[]"),
        unsigned_bytes("u8[]"), scales("f32[]"), signed_bytes("i8[6]"), sample("f32[6]"), none,
        none, none, sample("f32[]", 0.2, 0.5), signed_bytes("i8[]")}},
      {{.group = 19, .pads = {1, 1, 1, 1}, .strides = {2, 1}, .low = -1, .high = 2},
       {unsigned_bytes("u8[2,19,4,5]"), signed_bytes("i8[19,1,3,3]"), scales("f32[]"),
        unsigned_bytes("u8[]"), scales("f32[19]"), none, sample("f32[19]"),
        signed_bytes("i8[2,19,2,5]"), scales("f32[]"), signed_bytes("i8[]"),
        sample("f32[]", 0.01, 0.02), signed_bytes("i8[]")}},
      {{.auto_pad = "SAME_UPPER", .strides = {2}},
       {signed_bytes("i8[1,32,9]"), signed_bytes("i8[4,32,2]"), scales("f32[]"), none,
        scales("f32[]"), none, none, none, none, none, none, none}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(quantized_conv, quantized_conv_samples())
