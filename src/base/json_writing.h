// SPDX-License-Identifier: Apache-2.0
// Writes JSON in the order in which it is made. Json is nlohmann::ordered_json, whose header
// belongs in .cpp files.
#pragma once

#include <string>
#include <utility>

namespace narrowgauge {

// Adds a key that the object does not have yet. object[key] looks at all keys there are, which
// takes quadratic time for many.
template <class Json>
void add_key(Json& object, std::string key, Json value) {
  object.template get_ref<typename Json::object_t&>().emplace_back(std::move(key),
                                                                   std::move(value));
}

}  // namespace narrowgauge
