// SPDX-License-Identifier: Apache-2.0
#include "ops/math/bit_cast.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<BitCast>> bit_cast_samples() {
  return {
      {{DType::i32}, {sample("f32[2,3]")}},          {{DType::f32}, {sample("i32[7]", -9, 9)}},
      {{DType::u8}, {sample("i8[2,3,4,5]", -9, 9)}}, {{DType::f8e5m2}, {sample("bool[3]", 0, 1)}},
      {{DType::u4}, {sample("i4[7]", -8, 7)}},       {{DType::i2}, {sample("u2[7]", 0, 3)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(bit_cast, bit_cast_samples())
