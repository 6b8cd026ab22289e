// SPDX-License-Identifier: Apache-2.0
// Messages in protobuf's wire format, made by hand.
#pragma once

#include <cstdint>
#include <string>

#include "io/onnx/read.h"

namespace narrowgauge::testing_support {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string key(int number, unsigned kind) {
  return varint(static_cast<std::uint64_t>(number) << 3 | kind);
}
inline std::string field(int number, std::int64_t value) {
  return key(number, 0) + varint(static_cast<std::uint64_t>(value));
}
inline std::string field(int number, const std::string& bytes) {
  return key(number, 2) + varint(bytes.size()) + bytes;
}

inline onnx::Model model_of(const std::string& bytes) {
  return onnx::read_model(SharedBytes::holding(bytes), "m.onnx");
}
inline onnx::TensorData tensor_of_bytes(const std::string& bytes) {
  return onnx::read_tensor(SharedBytes::holding(bytes), "t.pb");
}
inline std::string model_with(const std::string& graph) { return field(7, graph); }

// The text of the error that a call ends in; "" if it ends in none.
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

}  // namespace narrowgauge::testing_support
