// SPDX-License-Identifier: Apache-2.0
#include "ops/math/cast.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<Identity>> identity_samples() {
  return {
      {{}, {sample("f32[2,3]")}}, {{}, {sample("f32[2,3,4,5]")}}, {{}, {sample("i64[3]", -9, 9)}}};
}

std::vector<Sample<Cast>> cast_samples() {
  std::vector<Sample<Cast>> all;
  const auto add = [&](const Cast& op, SampleInput x) { all.push_back({op, {std::move(x)}}); };
  for (const DType to : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                         DType::i8, DType::u64, DType::u32, DType::u16, DType::u8, DType::i4,
                         DType::u4, DType::i2, DType::u2, DType::boolean})
    add({.to = to}, sample("f32[2,3,4,5]", -6, 6));
  for (const DType to : {DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz, DType::f8e5m2fnuz})
    for (const int saturate : {0, 1})
      add({.to = to, .saturate = saturate}, sample("f32[37]", -1e3, 1e3));
  for (const char* from :
       {"i64[19]", "i32[19]", "u64[19]", "u16[19]", "u8[19]", "u2[19]", "bool[19]"})
    for (const DType to : {DType::f32, DType::bf16, DType::i32, DType::boolean})
      add({.to = to}, sample(from, 0, 3));
  for (const DType to : {DType::u8, DType::i8, DType::u16, DType::u64, DType::i4})
    add({.to = to}, sample("i64[19]", -999, 999));
  add({.to = DType::f4e2m1}, sample("f32[3,7]", -8, 8));
  add({.to = DType::f4e2m1}, sample("f32[20000]", -8, 8));
  for (const char* mode : {"up", "down", "nearest"})
    for (const int saturate : {0, 1})
      add({DType::f8e8m0, saturate, mode}, sample("f32[2,3,5]", -1, 9));
  for (const char* from : {"f4e2m1[19]", "f8e8m0[19]"})
    for (const DType to : {DType::f32, DType::f16, DType::f8e5m2})
      add({.to = to}, sample(from, 0, 4));
  return all;
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(cast, identity_samples(), cast_samples())
