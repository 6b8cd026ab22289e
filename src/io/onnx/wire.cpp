// SPDX-License-Identifier: Apache-2.0
#include "io/onnx/wire.h"

#include <algorithm>
#include <cstring>
#include <protozero/pbf_reader.hpp>

#include "narrowgauge/error.h"

namespace narrowgauge::onnx {

std::uint64_t take_varint(std::string_view& from) try {
  const char* at = from.data();
  const std::uint64_t value = protozero::decode_varint(&at, at + from.size());
  from.remove_prefix(static_cast<std::size_t>(at - from.data()));
  return value;
} catch (const protozero::end_of_buffer_exception&) {
  throw DataError("a field is cut off");
} catch (const protozero::varint_too_long_exception&) {
  throw DataError("a number has more than ten bytes");
}

std::size_t varints_in(std::string_view packed) {
  // Only the last byte of each number is below 0x80.
  const auto is_last = [](char byte) { return (byte & 0x80) == 0; };
  return static_cast<std::size_t>(std::ranges::count_if(packed, is_last));
}

bool Wire::next() try {
  if (rest_.empty()) return false;
  std::string_view key = rest_;
  // protozero keeps the low 32 bits of keys, and of lengths.
  require<DataError>(take_varint(key) <= UINT32_MAX, "the number of a field is too large");
  protozero::pbf_reader reader(rest_.data(), rest_.size());
  reader.next();
  number_ = static_cast<int>(reader.tag());
  kind_ = static_cast<Kind>(reader.wire_type());
  rest_ = key;
  return true;
} catch (const protozero::exception&) {
  throw DataError("there is no field where one should begin");
}

std::int64_t Wire::integer() {
  expect(Kind::varint, "an integer");
  return static_cast<std::int64_t>(take_varint(rest_));
}

float Wire::single() {
  expect(Kind::fixed32, "a float");
  float number = 0;
  std::memcpy(&number, take(sizeof(number)).data(), sizeof(number));
  return number;
}

std::string_view Wire::bytes() {
  expect(Kind::bytes, "bytes");
  return take(take_varint(rest_));
}

std::string_view Wire::value() {
  const std::string_view before = rest_;
  switch (kind_) {
    case Kind::bytes:
      return bytes();
    case Kind::fixed32:
      return take(4);
    case Kind::fixed64:
      return take(8);
    case Kind::varint:
      take_varint(rest_);
  }
  return before.substr(0, before.size() - rest_.size());
}

void Wire::expect(Kind kind, const char* what) const {
  require<DataError>(kind_ == kind, "field ", number_, ": expected ", what,
                     ", found another kind of value");
}

std::string_view Wire::take(std::uint64_t count) {
  require<DataError>(count <= rest_.size(), "field ", number_, " is cut off");
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

}  // namespace narrowgauge::onnx
