// SPDX-License-Identifier: Apache-2.0
#include "ops/math/bitwise.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

template <class Op>
std::vector<Sample<Op>> bitwise_samples() {
  return {{{}, {sample("i64[2,3,5]", -99, 99), sample("i64[2,3,5]", -99, 99)}},
          {{}, {sample("u8[4,1]", 0, 255), sample("u8[3]", 0, 255)}},
          {{}, {sample("i32[]", -99, 99), sample("i32[7]", -99, 99)}}};
}

std::vector<Sample<BitwiseNot>> bitwise_not_samples() {
  return {{{}, {sample("i64[2,3,5]", -99, 99)}},
          {{}, {sample("u8[19]", 0, 255)}},
          {{}, {sample("i4[7]", -8, 7)}}};
}

std::vector<Sample<BitShift>> bit_shift_samples() {
  std::vector<Sample<BitShift>> all;
  for (const char* direction : {"LEFT", "RIGHT"})
    for (const char* of : {"u8", "u16", "u32", "u64"})
      all.push_back(
          {{direction}, {sample(concat(of, "[5,3]"), 0, 255), sample(concat(of, "[3]"), 0, 9)}});
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(bitwise, bitwise_samples<BitwiseAnd>(), bitwise_samples<BitwiseOr>(),
           bitwise_samples<BitwiseXor>(), bitwise_not_samples(), bit_shift_samples())
