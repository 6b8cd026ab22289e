// SPDX-License-Identifier: Apache-2.0
// Tensors as ONNX's files hold them (TensorProto, SparseTensorProto), and their way to and from
// narrowgauge::Tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/files/shared_bytes.h"
#include "io/onnx/data_type.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge::onnx {

// Bit n: the file states field n although that holds its default (an empty text, zero). It means
// the same as a field left out, and is kept so that a file is written as it was read.
using Stated = std::uint32_t;

struct Entry {  // StringStringEntryProto
  std::string key, value;
  Stated stated = 0;
  bool operator==(const Entry&) const = default;
};
using Entries = std::vector<Entry>;

// Numbers one after another as the file has them: floating ones as their bytes, integers as
// varints, of any size from one byte to ten.
template <class T>
struct Packed {
  SharedBytes wire;
  bool operator==(const Packed&) const = default;
};

enum class DataLocation : std::int32_t { inside, external };

// Payloads are views into what was read. At most one of the lists of numbers, the strings and the
// raw bytes is filled, as dims and type demand.
struct TensorData {
  std::string name, doc_string;
  Dims dims;
  DataType data_type = DataType::undefined;
  Packed<float> float_data;
  Packed<std::int32_t> int32_data;
  Packed<std::int64_t> int64_data;
  Packed<double> double_data;
  Packed<std::uint64_t> uint64_data;
  std::vector<SharedBytes> string_data;
  // Little-endian. Of an external tensor these are bytes of the file beside the model, and absent
  // if the model was read from memory.
  std::optional<SharedBytes> raw_data;
  DataLocation data_location = DataLocation::inside;
  Entries external_data;  // keys location, offset, length, checksum
  Entries metadata;
  Stated stated = 0;
  bool operator==(const TensorData&) const = default;
};

struct SparseTensor {  // values [NNZ]; indices i64[NNZ] or [NNZ, rank]; dims of the dense tensor
  TensorData values, indices;
  Dims dims;
  bool operator==(const SparseTensor&) const = default;
};

// Bytes of a name that messages show.
inline constexpr std::size_t most_of_a_name = 80;
// "tensor 'w'", for messages.
std::string description(const TensorData& tensor);

// Bytes of the elements when raw; nothing for strings and unknown types. Throws DataError for dims
// that are negative or too large.
std::optional<std::int64_t> raw_bytes(const TensorData& tensor);

// Throws DataError unless the payload has exactly the elements that dims and type say. A type of a
// later version of ONNX, and an external tensor without its bytes, are not checked.
void check_payload(const TensorData& tensor);

// The elements: over raw bytes that may be changed, if they are aligned as a tensor's, else a copy.
// Throws DataError naming the tensor: for types without a counterpart, a
// payload that does not fit dims and type, and numbers that do not fit the type.
Tensor tensor_of(const TensorData& tensor);

// The tensor with its elements as raw bytes in place of a list of numbers; as it is where the type
// has no counterpart here. Throws DataError as tensor_of does.
TensorData with_raw_bytes(TensorData tensor);

// A tensor of ONNX with raw bytes, shared with the tensor given. Throws UsageError for b1.
TensorData tensor_data_of(const Tensor& tensor, std::string name = {});

}  // namespace narrowgauge::onnx
