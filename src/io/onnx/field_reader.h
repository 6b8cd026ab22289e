// SPDX-License-Identifier: Apache-2.0
// Reads the fields of one message into the members that fields.h gives their numbers.
#pragma once

#include <algorithm>
#include <concepts>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "io/onnx/external_files.h"
#include "io/onnx/fields.h"
#include "io/onnx/read.h"
#include "io/onnx/wire.h"

namespace narrowgauge::onnx {

// What is read, and what may still be taken for it.
struct Source {
  SharedBytes bytes;
  ExternalFiles* files = nullptr;  // none for what is read from memory
  std::size_t budget = 0;          // bytes
  int depth = 0;

  void take(std::size_t wanted) {
    require<DataError>(wanted <= budget, "would take more than ", reading_factor,
                       " times the memory of the file");
    budget -= wanted;
  }
};

template <class M>
void read_message(Source& source, std::string_view wire, M& message);

// Reads the current field of a message into the member that has its number.
class FieldReader {
 public:
  FieldReader(Source& source, std::string_view message, Stated* stated)
      : source_(source), wire_(message), stated_(stated) {}

  bool next() {
    known_ = false;
    return wire_.next();
  }
  bool known() const { return known_; }
  void skip() { wire_.value(); }
  bool seen(int number) const { return (seen_ >> number & 1) != 0; }

  template <class T>
  void operator()(int number, T& member) {
    if (!matches(number)) return;
    read(member);
    if constexpr (Number<T> || std::same_as<T, std::string>)
      *stated_ = (*stated_ & ~bit(number)) | (member == T{} ? bit(number) : 0);
    seen_ |= bit(number);
  }
  template <class T, class... Ts>
  void one_of(int number, std::variant<Ts...>& variant) {
    if (!matches(number)) return;
    if (variant.index() == 0) variant.template emplace<T>();
    require<DataError>(std::holds_alternative<T>(variant), "field ", number,
                       ": another field has the value already");
    read(std::get<T>(variant));
    seen_ |= bit(number);
  }
  void refused(int number, const char* why) {
    if (matches(number)) throw DataError(why);
  }

 private:
  static Stated bit(int number) { return Stated{1} << number; }
  bool matches(int number) {
    known_ = known_ || wire_.number() == number;
    return wire_.number() == number;
  }

  void read(std::string& text) { text = wire_.bytes(); }
  void read(float& number) { number = wire_.single(); }
  void read(Number auto& number) {
    number = static_cast<std::remove_reference_t<decltype(number)>>(wire_.integer());
  }
  void read(SharedBytes& bytes) { bytes = source_.bytes.part(wire_.bytes()); }
  void read(std::optional<SharedBytes>& bytes) { read(bytes.emplace()); }

  // Messages that stand once, which protobuf would merge if they stood twice.
  template <class M>
  void read(M& message) {
    require<DataError>(!seen(wire_.number()), "field ", wire_.number(),
                       ": expected once, found twice");
    read_message(source_, wire_.bytes(), message);
  }
  template <class M>
  void read(std::optional<M>& message) {
    if (!message) message.emplace();
    read(*message);
  }
  template <class M>
  void read(Box<M>& message) {
    source_.take(sizeof(M));
    read(*message);
  }

  template <class T>
  void read(std::vector<T>& values) {
    make_room(values, 1 + later_ones());
    if constexpr (requires(T & value) { read_element(value); })
      read_element(values.emplace_back());
    else
      read_message(source_, wire_.bytes(), values.emplace_back());
  }
  void read_element(std::string& text) { read(text); }
  void read_element(SharedBytes& bytes) { read(bytes); }

  void read(std::vector<std::int64_t>& values) {
    if (wire_.kind() == Wire::Kind::varint) {
      make_room(values, 1 + later_ones());
      return values.push_back(wire_.integer());
    }
    std::string_view packed = wire_.bytes();
    make_room(values, varints_in(packed));
    while (!packed.empty()) values.push_back(static_cast<std::int64_t>(take_varint(packed)));
  }
  void read(std::vector<float>& values) {
    if (wire_.kind() == Wire::Kind::fixed32) {
      make_room(values, 1 + later_ones());
      return values.push_back(wire_.single());
    }
    const std::string_view packed = numbers<float>(wire_.bytes());
    const std::size_t before = values.size();
    make_room(values, packed.size() / sizeof(float));
    values.resize(before + packed.size() / sizeof(float));
    std::ranges::copy(packed, reinterpret_cast<char*>(values.data() + before));
  }
  // A list of numbers in one piece is a view; several pieces are put together.
  template <class T>
  void read(Packed<T>& list) {
    constexpr Wire::Kind one = std::integral<T> ? Wire::Kind::varint
                               : sizeof(T) == 4 ? Wire::Kind::fixed32
                                                : Wire::Kind::fixed64;
    require<DataError>(wire_.kind() == one || wire_.kind() == Wire::Kind::bytes, "field ",
                       wire_.number(), ": expected numbers, found another kind of value");
    const std::string_view piece = numbers<T>(wire_.value());
    if (list.wire.empty()) {
      list.wire = source_.bytes.part(piece);
      return;
    }
    std::shared_ptr<std::string>& joined = joined_[wire_.number()];
    if (!joined) joined = std::make_shared<std::string>(list.wire.view());
    *joined += piece;
    list.wire = SharedBytes(joined, *joined);
  }

  template <class T>
  std::string_view numbers(std::string_view packed) const {
    const bool whole = std::integral<T> ? packed.empty() || (packed.back() & 0x80) == 0
                                        : packed.size() % sizeof(T) == 0;
    require<DataError>(whole, "field ", wire_.number(), ": a number is cut off");
    return packed;
  }

  // How many more values of this field the message has.
  std::size_t later_ones() const {
    if (seen(wire_.number())) return 0;
    std::size_t count = 0;
    Wire rest = wire_;
    for (rest.value(); rest.next(); rest.value()) count += rest.number() == wire_.number();
    return count;
  }
  template <class T>
  void make_room(std::vector<T>& values, std::size_t more) {
    if (values.size() + more <= values.capacity()) return;
    const std::size_t room = std::max(values.size() + more, 2 * values.capacity());
    source_.take(room * sizeof(T));
    values.reserve(room);
  }

  Source& source_;
  Wire wire_;
  Stated* stated_;
  bool known_ = false;
  std::uint32_t seen_ = 0;  // bits of the fields so far
  std::map<int, std::shared_ptr<std::string>> joined_;
};

}  // namespace narrowgauge::onnx
