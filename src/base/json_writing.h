// SPDX-License-Identifier: Apache-2.0
// Writes JSON as text. A document would end the program where memory ends while its parts are made.
// Json is nlohmann::json, whose header belongs in .cpp files.
#pragma once

#include <string>
#include <string_view>

namespace narrowgauge {

// Text in quotes. Throws Json::exception where it is not in UTF-8, unless that is replaced.
template <class Json>
std::string json_text(std::string_view text,
                      typename Json::error_handler_t errors = Json::error_handler_t::strict) {
  return Json(text).dump(-1, ' ', false, errors);
}

}  // namespace narrowgauge
