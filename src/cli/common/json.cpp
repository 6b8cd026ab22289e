// SPDX-License-Identifier: Apache-2.0
#include "cli/common/json.h"

#include <nlohmann/json.hpp>

namespace narrowgauge::cli {

using Json = nlohmann::ordered_json;

struct JsonObject::Content {
  Json json = Json::object();
  template <class T>
  void set(std::string_view key, T&& value) {
    json[std::string(key)] = std::forward<T>(value);
  }
};

JsonObject::JsonObject() : content_(std::make_unique<Content>()) {}
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;
JsonObject::~JsonObject() = default;

JsonObject& JsonObject::add(std::string_view key, std::string_view value) {
  content_->set(key, value);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, double value) {
  content_->set(key, value);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::int64_t value) {
  content_->set(key, value);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, bool value) {
  content_->set(key, value);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const JsonObject& value) {
  content_->set(key, value.content_->json);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const std::vector<JsonObject>& values) {
  Json array = Json::array();
  for (const JsonObject& value : values) array.push_back(value.content_->json);
  content_->set(key, std::move(array));
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const std::vector<std::string>& values) {
  content_->set(key, values);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const std::vector<double>& values) {
  content_->set(key, values);
  return *this;
}

JsonObject& JsonObject::add_null(std::string_view key) {
  content_->set(key, nullptr);
  return *this;
}

JsonObject& JsonObject::add_all(const JsonObject& other) {
  content_->json.update(other.content_->json);
  return *this;
}

// Paths may hold bytes that are not UTF-8.
std::string JsonObject::line() const {
  return content_->json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace narrowgauge::cli
