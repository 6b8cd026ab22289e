// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/data_type.h"

#include <array>

#include "narrowgauge/error.h"

namespace narrowgauge::onnx {
namespace {

using enum NumberList;

constexpr std::array<DataTypeFacts, 29> table{{
    {"undefined", 0, none},
    {"float", 32, floats, DType::f32},
    {"uint8", 8, int32s, DType::u8},
    {"int8", 8, int32s, DType::i8},
    {"uint16", 16, int32s, DType::u16},
    {"int16", 16, int32s, DType::i16},
    {"int32", 32, int32s, DType::i32},
    {"int64", 64, int64s, DType::i64},
    {"string", 0, strings},
    {"bool", 8, int32s, DType::boolean},
    {"float16", 16, int32s, DType::f16},
    {"double", 64, doubles, DType::f64},
    {"uint32", 32, uint64s, DType::u32},
    {"uint64", 64, uint64s, DType::u64},
    {"complex64", 64, floats},
    {"complex128", 128, doubles},
    {"bfloat16", 16, int32s, DType::bf16},
    {"float8e4m3fn", 8, int32s, DType::f8e4m3fn},
    {"float8e4m3fnuz", 8, int32s, DType::f8e4m3fnuz},
    {"float8e5m2", 8, int32s, DType::f8e5m2},
    {"float8e5m2fnuz", 8, int32s, DType::f8e5m2fnuz},
    {"uint4", 4, int32s, DType::u4},
    {"int4", 4, int32s, DType::i4},
    {"float4e2m1", 4, int32s, DType::f4e2m1},
    {"float8e8m0", 8, int32s, DType::f8e8m0},
    {"uint2", 2, int32s, DType::u2},
    {"int2", 2, int32s, DType::i2},
    {"float6e2m3", 6, int32s},
    {"float6e3m2", 6, int32s},
}};

}  // namespace

const DataTypeFacts* facts_of(DataType type) {
  const auto index = static_cast<std::uint32_t>(type);
  return index < table.size() ? &table[index] : nullptr;
}

std::string name_of(DataType type) {
  const DataTypeFacts* const facts = facts_of(type);
  return facts ? std::string(facts->name) : concat("data type ", static_cast<std::int32_t>(type));
}

DataType data_type_of(DType dtype) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].dtype == dtype) return static_cast<DataType>(i);
  throw UsageError(concat("onnx: has no counterpart of ", dtype));
}

}  // namespace narrowgauge::onnx
