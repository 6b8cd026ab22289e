// SPDX-License-Identifier: Apache-2.0
#include "support/json.h"

#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

namespace narrowgauge::testing_json {

using nlohmann::json;

Json Json::parse(std::string_view text) {
  return Json(std::make_shared<const json>(json::parse(text)));
}

const json& Json::here() const {
  static const json null;
  return value_ ? *value_ : null;
}

Json Json::at(std::string_view key) const {
  return Json(Shared(value_, &here().at(std::string(key))));
}
Json Json::at(std::size_t index) const { return Json(Shared(value_, &here().at(index))); }
bool Json::contains(std::string_view key) const { return here().contains(std::string(key)); }
std::string Json::value(std::string_view key, const std::string& when_absent) const {
  return contains(key) ? at(key).get<std::string>() : when_absent;
}
Json Json::without(std::string_view key) const {
  json object = here();
  object.erase(std::string(key));
  return Json(std::make_shared<const json>(std::move(object)));
}
std::size_t Json::size() const { return here().size(); }
Json Json::Iterator::operator*() const {
  const auto entry = std::next(of_->here().begin(), static_cast<std::ptrdiff_t>(index_));
  return Json(Shared(of_->value_, &*entry));
}

bool Json::is_null() const { return here().is_null(); }
bool Json::is_number() const { return here().is_number(); }
template <class T>
T Json::get() const {
  return here().get<T>();
}
template double Json::get() const;
template bool Json::get() const;
template int Json::get() const;
template std::int64_t Json::get() const;
template std::string Json::get() const;
template std::vector<std::int32_t> Json::get() const;

Json::operator double() const { return get<double>(); }
Json::operator std::string() const { return get<std::string>(); }
Json::operator bool() const { return get<bool>(); }
std::string Json::dump() const { return here().dump(); }

bool operator==(const Json& a, const Json& b) { return a.here() == b.here(); }
bool operator==(const Json& a, std::string_view text) { return a.here() == text; }
std::partial_ordering operator<=>(const Json& a, const Json& b) {
  if (!a.is_number() || !b.is_number()) return std::partial_ordering::unordered;
  if (a.here() < b.here()) return std::partial_ordering::less;
  if (b.here() < a.here()) return std::partial_ordering::greater;
  return a == b ? std::partial_ordering::equivalent : std::partial_ordering::unordered;
}
Json Json::of(bool value) { return Json(std::make_shared<const json>(value)); }
Json Json::of(double value) { return Json(std::make_shared<const json>(value)); }
Json Json::of(std::int64_t value) { return Json(std::make_shared<const json>(value)); }
Json Json::of(std::uint64_t value) { return Json(std::make_shared<const json>(value)); }

std::ostream& operator<<(std::ostream& out, const Json& value) { return out << value.dump(); }

}  // namespace narrowgauge::testing_json
