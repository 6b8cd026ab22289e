// SPDX-License-Identifier: Apache-2.0
// Reads JSON that may hold anything. Json is nlohmann::json, whose header belongs in .cpp files;
// not its ordered one, which takes quadratic time for many keys.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "narrowgauge/error.h"

namespace narrowgauge {

// Empties a document from its leaves on. nlohmann's destructor takes memory for lists and objects
// that are not empty, and ends the program where it gets none.
template <class Json>
void empty_json(Json& json) noexcept {
  if (!json.is_structured()) return;
  for (Json& inside : json) empty_json(inside);
  json.clear();
}

// A document that takes no memory when it goes away.
template <class Json>
class JsonDocument : public Json {
 public:
  explicit JsonDocument(Json&& root) : Json(std::move(root)) {}
  JsonDocument(JsonDocument&&) noexcept = default;
  ~JsonDocument() { empty_json<Json>(*this); }
};

enum class JsonEvent : std::uint8_t { begin_object, begin_list, key, value, end };

// Builds a document from what the parser finds, and shows each find to a guard ahead of that:
// guard(depth, event, text), with the number of objects and lists around it, and the text of a key.
// The guard throws where it refuses. (With a callback of its own, nlohmann's parser looks at all
// children of an object after each, which takes quadratic time.)
template <class Json, class Guard>
class JsonBuilder {
 public:
  explicit JsonBuilder(Guard& guard) : guard_(guard) {}
  JsonBuilder(const JsonBuilder&) = delete;
  JsonBuilder& operator=(const JsonBuilder&) = delete;
  ~JsonBuilder() { empty_json(root_); }
  JsonDocument<Json> take() { return JsonDocument<Json>(std::move(root_)); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(typename Json::binary_t&) { return false; }  // not in JSON
  bool start_object(std::size_t) { return open(JsonEvent::begin_object, Json::object()); }
  bool start_array(std::size_t) { return open(JsonEvent::begin_list, Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& text) {
    guard_(depth(), JsonEvent::key, std::string_view(text));
    key_ = std::move(text);
    return true;
  }
  template <class Error>
  bool parse_error(std::size_t, const std::string&, const Error& error) {
    throw error;
  }

 private:
  int depth() const { return static_cast<int>(open_.size()); }

  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    Json& around = *open_.back();
    if (around.is_object()) return around[key_] = std::move(value);
    around.push_back(std::move(value));
    return around.back();
  }
  bool add(Json value) {
    guard_(depth(), JsonEvent::value, std::string_view());
    place(std::move(value));
    return true;
  }
  bool open(JsonEvent event, Json empty) {
    guard_(depth(), event, std::string_view());
    open_.push_back(&place(std::move(empty)));
    return true;
  }
  bool close() {
    open_.pop_back();
    guard_(depth(), JsonEvent::end, std::string_view());
    return true;
  }

  Guard& guard_;
  Json root_;
  std::vector<Json*> open_{};  // which stay in place while something inside of them is open
  std::string key_{};
};

// Parses a text under a guard (JsonBuilder); throws what the guard throws, and whatever
// Json::parse() throws.
template <class Json, class Guard>
JsonDocument<Json> parse_guarded_json(std::string_view text, Guard&& guard) {
  JsonBuilder<Json, Guard> builder(guard);
  Json::sax_parse(text, &builder);
  return builder.take();
}

// Parses text nested no deeper than the program's own files, or as deep as `deepest`: brackets take
// a hundred times their size. Throws DataError, and whatever Json::parse() throws.
template <class Json>
JsonDocument<Json> parse_json(std::string_view text, const std::string& path, int deepest = 8) {
  return parse_guarded_json<Json>(text, [&](int depth, JsonEvent, std::string_view) {
    require<DataError>(depth <= deepest, path, ": is damaged: it is nested too deeply");
  });
}

// Reads a whole number; nlohmann's own get() cuts off fractions and bits that do not fit. Throws
// DataError, and whatever json.at() throws.
template <std::integral T, class Json>
T whole_number(const Json& json, const std::string& key, const std::string& path) {
  const auto& value = json.at(key);
  const bool fits =
      value.is_number_unsigned()
          ? std::in_range<T>(value.template get<std::uint64_t>())
          : value.is_number_integer() && std::in_range<T>(value.template get<std::int64_t>());
  require<DataError>(fits, path, ": is damaged: expected a whole number as ", key, ", found ",
                     value.is_number() ? value.dump() : value.type_name());
  return value.template get<T>();
}

}  // namespace narrowgauge
