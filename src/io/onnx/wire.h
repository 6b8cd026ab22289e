// SPDX-License-Identifier: Apache-2.0
// One message in protobuf's wire format, field after field.
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace narrowgauge::onnx {

// Takes a varint off the front. Throws DataError where it is cut off or too long.
std::uint64_t take_varint(std::string_view& from);
std::size_t varints_in(std::string_view packed);

// next(), then one call for the value. All throw DataError for what is cut off or no message, and
// for a value of another kind than is asked for.
class Wire {
 public:
  enum class Kind : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

  explicit Wire(std::string_view message) : rest_(message) {}

  bool next();  // false at the end
  int number() const { return number_; }
  Kind kind() const { return kind_; }

  std::int64_t integer();
  float single();
  std::string_view bytes();
  std::string_view value();  // of any kind: its bytes, without their length

 private:
  void expect(Kind kind, const char* what) const;
  std::string_view take(std::uint64_t count);

  std::string_view rest_;
  int number_ = 0;
  Kind kind_ = Kind::varint;
};

}  // namespace narrowgauge::onnx
