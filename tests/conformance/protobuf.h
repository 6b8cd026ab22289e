// SPDX-License-Identifier: Apache-2.0
// Reads the wire format of protocol buffers, without a schema: field after field of one message.
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/error.h"

namespace narrowgauge::testing {

class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  // The next field: then number() and one of the values below. False at the end.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t key = read_varint();
    number_ = static_cast<int>(key >> 3);
    kind_ = static_cast<int>(key & 7);
    switch (kind_) {
      case 0:
        value_ = read_varint();
        break;
      case 1:
        bytes_ = take(8);
        break;
      case 2:
        bytes_ = take(read_varint());
        break;
      case 5:
        bytes_ = take(4);
        break;
      default:
        throw DataError("protobuf: groups are not known");
    }
    return true;
  }
  int number() const { return number_; }
  std::int64_t integer() const { return static_cast<std::int64_t>(value_); }
  std::string_view bytes() const {
    require<DataError>(kind_ == 2, "protobuf: field ", number_, " is a number, expected bytes");
    return bytes_;
  }
  std::string text() const { return std::string(bytes()); }
  Message message() const { return Message(bytes()); }
  float single() const {
    require<DataError>(kind_ == 5, "protobuf: field ", number_, " is no number of four bytes");
    return fixed<float>(bytes_);
  }

  // A repeated number, packed or not, is appended.
  void append_integers(std::vector<std::int64_t>& to) const {
    if (kind_ == 0) to.push_back(integer());
    if (kind_ != 2) return;
    for (Message packed(bytes_); !packed.rest_.empty();)
      to.push_back(static_cast<std::int64_t>(packed.read_varint()));
  }
  // T is float or double.
  template <class T>
  void append_fixed(std::vector<T>& to) const {
    require<DataError>(kind_ != 0, "protobuf: field ", number_, " holds no floats");
    for (std::size_t at = 0; at + sizeof(T) <= bytes_.size(); at += sizeof(T))
      to.push_back(fixed<T>(bytes_.substr(at)));
  }

 private:
  template <class T>
  static T fixed(std::string_view bytes) {
    require<DataError>(bytes.size() >= sizeof(T), "protobuf: a number is cut off");
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  std::uint64_t read_varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    throw DataError("protobuf: a number has more than ten bytes");
  }

  std::string_view take(std::uint64_t count) {
    require<DataError>(count <= rest_.size(), "protobuf: a field is cut off");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_, bytes_;
  std::uint64_t value_ = 0;
  int number_ = 0, kind_ = 0;
};

}  // namespace narrowgauge::testing
