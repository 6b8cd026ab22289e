// SPDX-License-Identifier: Apache-2.0
// Types of values as ONNX's files state them (TypeProto).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "io/onnx/box.h"
#include "io/onnx/tensor.h"

namespace narrowgauge::onnx {

struct Type;

struct Dimension {
  std::variant<std::monostate, std::int64_t, std::string> size;  // unknown, a number, a symbol
  std::string denotation;                                        // such as "DATA_BATCH"
  Stated stated = 0;
  bool operator==(const Dimension&) const = default;
};

struct TensorShape {
  std::vector<Dimension> dims;  // none for a scalar
  bool operator==(const TensorShape&) const = default;
};

struct DenseTensorType {
  DataType element = DataType::undefined;
  std::optional<TensorShape> shape;  // absent where even the rank is unknown
  Stated stated = 0;
  bool operator==(const DenseTensorType&) const = default;
};

struct SparseTensorType {
  DataType element = DataType::undefined;
  std::optional<TensorShape> shape;
  Stated stated = 0;
  bool operator==(const SparseTensorType&) const = default;
};

struct SequenceType {
  std::optional<Box<Type>> element;
  bool operator==(const SequenceType&) const;
};

struct OptionalType {
  std::optional<Box<Type>> element;
  bool operator==(const OptionalType&) const;
};

struct MapType {
  DataType key = DataType::undefined;
  std::optional<Box<Type>> value;
  Stated stated = 0;
  bool operator==(const MapType&) const;
};

struct OpaqueType {
  std::string domain, name;
  Stated stated = 0;
  bool operator==(const OpaqueType&) const = default;
};

struct Type {
  std::variant<std::monostate, DenseTensorType, SequenceType, MapType, OpaqueType, SparseTensorType,
               OptionalType>
      kind;
  std::string denotation;  // such as "IMAGE"
  Stated stated = 0;
  bool operator==(const Type&) const = default;
};

inline bool SequenceType::operator==(const SequenceType&) const = default;
inline bool OptionalType::operator==(const OptionalType&) const = default;
inline bool MapType::operator==(const MapType&) const = default;

}  // namespace narrowgauge::onnx
