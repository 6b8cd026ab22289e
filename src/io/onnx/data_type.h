// SPDX-License-Identifier: Apache-2.0
// ONNX's types of elements (TensorProto.DataType), all of them: also those without a DType here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "narrowgauge/dtype.h"

namespace narrowgauge::onnx {

// A file may hold numbers that are not listed: those of a later version of ONNX.
enum class DataType : std::int32_t {
  undefined,
  f32,
  u8,
  i8,
  u16,
  i16,
  i32,
  i64,
  string,
  boolean,
  f16,
  f64,
  u32,
  u64,
  complex64,
  complex128,
  bf16,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  u4,
  i4,
  f4e2m1,
  f8e8m0,
  u2,
  i2,
  f6e2m3,
  f6e3m2
};

// Which of a tensor's lists of numbers holds elements that are not raw bytes.
enum class NumberList : std::uint8_t { none, floats, int32s, strings, int64s, doubles, uint64s };

struct DataTypeFacts {
  std::string_view name;         // as in ONNX's text format: "float", "uint16", "float8e4m3fnuz"
  int bits = 0;                  // of an element among raw bytes; 0 for what cannot be raw
  NumberList list{};             // for elements as numbers
  std::optional<DType> dtype{};  // the counterpart here, if there is one
};

const DataTypeFacts* facts_of(DataType type);  // nullptr for an unknown number
std::string name_of(DataType type);            // "float"; "data type 99" for an unknown number
DataType data_type_of(DType dtype);            // throws UsageError for b1, which ONNX lacks

}  // namespace narrowgauge::onnx
