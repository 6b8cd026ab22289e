// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/conv_integer.h"

#include "samples/quantized/bytes.h"
#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<ConvInteger>> conv_integer_samples() {
  return {
      {{}, {unsigned_bytes("u8[2,3,5,6]"), signed_bytes("i8[4,3,3,2]")}},
      {{.pads = {1, 1, 1, 1}},
       {unsigned_bytes("u8[2,3,4,4]"), signed_bytes("i8[5,3,3,3]"), unsigned_bytes("u8[]"),
        signed_bytes("i8[5]")}},
      {{.pads = {0, 1, 2, 1}, .strides = {2, 1}},
       {signed_bytes("i8[1,2,5,4]"), unsigned_bytes("u8[3,2,3,3]"), signed_bytes("i8[]"),
        unsigned_bytes("u8[1]")}},
      {{.dilations = {2, 1}, .group = 2},
       {signed_bytes("i8[2,4,6,3]"), signed_bytes("i8[6,2,3,2]"), no_sample(),
        signed_bytes("i8[6]")}},
      {{.auto_pad = "SAME_UPPER", .strides = {2, 2}},
       {unsigned_bytes("u8[1,2,5,6]"), unsigned_bytes("u8[3,2,3,2]"), unsigned_bytes("u8[1]")}},
      {{.auto_pad = "SAME_LOWER", .kernel_shape = {2}},
       {unsigned_bytes("u8[2,2,5]"), signed_bytes("i8[2,2,2]"), unsigned_bytes("u8[]")}},
      {{.auto_pad = "VALID", .strides = {1, 2, 1}},
       {unsigned_bytes("u8[1,2,3,4,3]"), signed_bytes("i8[2,2,2,2,2]")}},
      {{}, {unsigned_bytes("u8[0,2,3,3]"), signed_bytes("i8[2,2,2,2]")}},
  };
}

std::vector<Sample<QLinearConv>> q_linear_conv_samples() {
  return {
      {{.pads = {1, 1, 1, 1}},
       {unsigned_bytes("u8[2,3,5,6]"), scales("f32[]"), unsigned_bytes("u8[]"),
        signed_bytes("i8[4,3,3,3]"), scales("f32[4]"), signed_bytes("i8[4]"),
        sample("f32[]", 0.2, 0.5), signed_bytes("i8[]"), sample("i32[4]", -9000, 9000)}},
      {{.group = 3, .strides = {2, 2}},
       {signed_bytes("i8[1,3,5,5]"), scales("f32[1]"), signed_bytes("i8[1]"),
        signed_bytes("i8[3,1,3,3]"), scales("f32[1]"), signed_bytes("i8[1]"),
        sample("f32[1]", 0.2, 0.5), unsigned_bytes("u8[1]")}},
  };
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(conv_integer, conv_integer_samples(), q_linear_conv_samples())
