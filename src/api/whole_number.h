// SPDX-License-Identifier: Apache-2.0
// Whole numbers from JSON: nlohmann's own get() cuts off fractions and the bits that do not fit.
#pragma once

#include <concepts>
#include <string>
#include <utility>

#include "narrowgauge/error.h"

namespace narrowgauge {

// Json is nlohmann's, whose header belongs in .cpp files. Throws DataError, and what json.at()
// does.
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
