// SPDX-License-Identifier: Apache-2.0
// Files of named tensors in the safetensors format, which other frameworks read and write too.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/named_tensor.h"

namespace narrowgauge {

// The content of a safetensors file.
struct NG_API TensorFile {
  std::vector<NamedTensor> tensors;             // in the order of their bytes
  std::map<std::string, std::string> metadata;  // the format's "__metadata__"

  const Tensor* find(std::string_view name) const;  // nullptr if there is none
};

// Reads the tensors in the order of their bytes and checks every rule of the format. Throws
// DataError naming the file, what was expected and found. Complex
// numbers, and formats of less than a byte but F4, have no counterpart here and are refused.
NG_API TensorFile read_safetensors(const std::string& path);
// Reads bytes in memory, which are copied; `name` stands for the file in messages.
NG_API TensorFile read_safetensors(std::span<const std::byte> bytes,
                                   const std::string& name = "safetensors");

// Replaces the file as a whole: at every moment the path holds the old or the new content. Equal
// content gives equal bytes, whatever the order of the tensors. Throws UsageError for a name that
// is empty, repeated, reserved or not UTF-8, and for f8e4m3fnuz, f8e5m2fnuz, i4, u4,
// i2, u2 and b1, which the format lacks; DataError if it cannot be written.
NG_API void write_safetensors(const std::string& path, const TensorFile& content);
// The bytes of such a file. Throws UsageError as write_safetensors() does.
NG_API std::vector<std::byte> safetensors_bytes(const TensorFile& content);

}  // namespace narrowgauge
