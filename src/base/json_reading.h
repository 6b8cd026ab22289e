// SPDX-License-Identifier: Apache-2.0
// Reads JSON that may hold anything. Json is nlohmann::json, whose header belongs in .cpp files;
// not its ordered one, which takes quadratic time for many keys.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

#include "narrowgauge/error.h"

namespace narrowgauge {

// Parses text nested no deeper than the program's own files: brackets take a hundred times their
// size. Throws DataError, and whatever Json::parse() throws.
template <class Json>
Json parse_json(const std::string& text, const std::string& path) {
  constexpr int deepest = 8;
  return Json::parse(text, [&](int depth, auto, const Json&) {
    require<DataError>(depth <= deepest, path, ": is damaged: it is nested too deeply");
    return true;
  });
}

// Reads a whole number; nlohmann's own get() cuts off fractions and bits that do not fit. Throws
// DataError, and whatever json.at() throws.
template <std::integral T, class Json>
T whole_number(const Json& json, const std::string& key, const std::string& path) {
  const Json& value = json.at(key);
  const bool fits =
      value.is_number_unsigned()
          ? std::in_range<T>(value.template get<std::uint64_t>())
          : value.is_number_integer() && std::in_range<T>(value.template get<std::int64_t>());
  require<DataError>(fits, path, ": is damaged: expected a whole number as ", key, ", found ",
                     value.is_number() ? value.dump() : value.type_name());
  return value.template get<T>();
}

}  // namespace narrowgauge
