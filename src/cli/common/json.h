// SPDX-License-Identifier: Apache-2.0
// A JSON object that is filled field by field and printed as one line.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace narrowgauge::cli {

class JsonObject {
 public:
  JsonObject();
  JsonObject(JsonObject&&) noexcept;
  JsonObject& operator=(JsonObject&&) noexcept;
  ~JsonObject();

  // Fields keep the order in which they are first added; a second value replaces the first.
  JsonObject& add(std::string_view key, std::string_view value);
  JsonObject& add(std::string_view key, const char* value) {
    return add(key, std::string_view(value));
  }
  JsonObject& add(std::string_view key, double value);  // null where it is not finite
  JsonObject& add(std::string_view key, std::int64_t value);
  template <std::integral T>
  JsonObject& add(std::string_view key, T value) {
    return add(key, static_cast<std::int64_t>(value));
  }
  JsonObject& add(std::string_view key, bool value);
  JsonObject& add(std::string_view key, const JsonObject& value);
  JsonObject& add(std::string_view key, const std::vector<JsonObject>& values);
  JsonObject& add(std::string_view key, const std::vector<std::string>& values);
  JsonObject& add(std::string_view key, const std::vector<double>& values);
  JsonObject& add_null(std::string_view key);
  JsonObject& add_all(const JsonObject& other);

  std::string line() const;  // ends in a line feed

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace narrowgauge::cli
