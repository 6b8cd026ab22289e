// SPDX-License-Identifier: Apache-2.0
// Writes ONNX's files, the inverse of reading: fields in the order of their numbers and lists of
// numbers packed where onnx.proto says so, which are the bytes that ONNX's own library makes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/onnx/model.h"

namespace narrowgauge::onnx {

inline constexpr std::int64_t external_alignment = 4096;  // bytes: a page, for whoever maps them

struct WriteOptions {
  // Initializers of at least so many raw bytes go to a file beside the model; without it, none.
  // Types without a counterpart here go only if they are raw already.
  std::optional<std::int64_t> external_from = {};
  // Raw tensors of a KiB and more that have a name lie at multiples of Tensor::alignment, where
  // whoever maps the file can use them as they lie.
  bool aligned = false;
};

// The file's bytes. External tensors stay external, and name the files that they named. Throws
// DataError from 2 GiB on, which no reader of protobuf takes.
std::string serialized(const Model& model);
std::string serialized(const TensorData& tensor);
// The bytes of a file that needs no other: external tensors are inside, and large ones aligned.
// Throws as serialized() does.
std::string serialized_alone(const Model& model);

// Replaces the file as a whole, after the file `path`.data if there are tensors for it. External
// tensors of the model come along, inside or in the new file, unless it was read without their
// bytes. Throws DataError as serialized() does, and for what cannot be written.
void write_model(const std::string& path, const Model& model, const WriteOptions& options = {});

}  // namespace narrowgauge::onnx
