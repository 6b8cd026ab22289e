// SPDX-License-Identifier: Apache-2.0
// Text in JSON as tests read it. Only json.cpp includes a parser: its templates, compiled in each
// test that compares a few numbers, took longer than all the rest of that test.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace narrowgauge::testing_json {

// A value that nothing changes. What is asked of it in vain, a key, an index or a type, throws.
class Json {
 public:
  class Iterator;

  Json() = default;  // null
  static Json parse(std::string_view text);

  Json at(std::string_view key) const;
  Json at(std::size_t index) const;
  Json operator[](const char* key) const { return at(std::string_view(key)); }
  Json operator[](const std::string& key) const { return at(std::string_view(key)); }
  Json operator[](std::size_t index) const { return at(index); }
  Json operator[](int index) const { return at(static_cast<std::size_t>(index)); }
  bool contains(std::string_view key) const;
  std::string value(std::string_view key, const std::string& when_absent) const;
  Json without(std::string_view key) const;  // the same object but for it
  std::size_t size() const;                  // entries; 0 of null, 1 of what is no list or object
  bool empty() const { return size() == 0; }
  // The entries of a list, or the values of an object.
  Iterator begin() const;
  Iterator end() const;

  bool is_null() const;
  bool is_number() const;
  // The value as double, bool, int, std::int64_t, std::string or std::vector<std::int32_t>.
  template <class T>
  T get() const;
  operator double() const;         // NOLINT: so that tests read as they would of numbers
  operator std::string() const;    // NOLINT
  explicit operator bool() const;  // true or false, no number
  std::string dump() const;        // on one line

  friend bool operator==(const Json& a, const Json& b);
  friend bool operator==(const Json& a, std::string_view text);
  template <class T>
  requires std::is_arithmetic_v<T>
  friend bool operator==(const Json& a, T number) { return a == of(widest(number)); }
  // Neither of two is less where they are no numbers.
  friend std::partial_ordering operator<=>(const Json& a, const Json& b);
  template <class T>
  requires std::is_arithmetic_v<T>
  friend std::partial_ordering operator<=>(const Json& a, T number) {
    return a <=> of(widest(number));
  }
  friend std::ostream& operator<<(std::ostream& out, const Json& value);

 private:
  using Shared = std::shared_ptr<const nlohmann::json>;
  explicit Json(Shared value) : value_(std::move(value)) {}

  static bool widest(bool value) { return value; }
  static double widest(std::floating_point auto value) { return value; }
  static std::int64_t widest(std::signed_integral auto value) { return value; }
  static std::uint64_t widest(std::unsigned_integral auto value) { return value; }
  static Json of(bool value);
  static Json of(double value);
  static Json of(std::int64_t value);
  static Json of(std::uint64_t value);
  const nlohmann::json& here() const;

  Shared value_;  // nullptr: null
};

class Json::Iterator {
 public:
  Iterator(const Json& of, std::size_t index) : of_(&of), index_(index) {}
  Json operator*() const;
  Iterator& operator++() {
    ++index_;
    return *this;
  }
  bool operator==(const Iterator& other) const { return index_ == other.index_; }

 private:
  const Json* of_;
  std::size_t index_;
};

inline Json::Iterator Json::begin() const { return {*this, 0}; }
inline Json::Iterator Json::end() const { return {*this, size()}; }

}  // namespace narrowgauge::testing_json
