// SPDX-License-Identifier: Apache-2.0
// The JSON at the front of a safetensors file, without the bytes that it describes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  Dims dims;
  std::int64_t begin = 0, end = 0;  // bytes, counted from the end of the header
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

inline constexpr std::int64_t largest_safetensors_header = 100'000'000;  // bytes
inline constexpr std::string_view safetensors_metadata_key = "__metadata__";

// Checks everything that needs no data: the JSON's form, no repeated keys, sizes that fit dtype and
// shape, and entries that cover exactly [0, data_bytes) without gap or overlap. Throws DataError
// beginning with `path`.
SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view json,
                                           std::int64_t data_bytes);

// The position of this dtype's tensors in a file, from 0 up; -1 if the format lacks the dtype.
int safetensors_place(DType dtype);

// The header as text, padded with spaces to a multiple of 8 bytes. Throws UsageError for a dtype
// that the format lacks, or text that is not UTF-8.
std::string format_safetensors_header(const SafetensorsHeader& header);

}  // namespace narrowgauge
