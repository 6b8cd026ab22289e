// SPDX-License-Identifier: Apache-2.0
// Writes JSON as text. A document would end the program where memory ends while its parts are made.
// Json is nlohmann::json, whose header belongs in .cpp files.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "narrowgauge/error.h"

namespace narrowgauge {

// Text in quotes. Throws Json::exception where it is not in UTF-8, unless that is replaced.
template <class Json>
std::string json_text(std::string_view text,
                      typename Json::error_handler_t errors = Json::error_handler_t::strict) {
  return Json(text).dump(-1, ' ', false, errors);
}

template <class Json>
std::string json_number(double number) {  // null where it is not finite
  return Json(number).dump();
}

// Members that are JSON already, in their order; those without any are left out.
inline std::string json_object(
    std::initializer_list<std::pair<std::string_view, std::string>> members) {
  std::string text = "{";
  for (const auto& [name, value] : members)
    if (!value.empty()) text += concat(text.size() > 1 ? ",\"" : "\"", name, "\":", value);
  return text + '}';
}

// What json_of() makes of each item.
template <class Items, class JsonOf>
std::string json_list(const Items& items, const JsonOf& json_of) {
  std::string text = "[";
  for (const auto& item : items) text += concat(text.size() > 1 ? "," : "", json_of(item));
  return text + ']';
}

}  // namespace narrowgauge
