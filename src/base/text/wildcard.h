// SPDX-License-Identifier: Apache-2.0
// Patterns of names.
#pragma once

#include <string_view>

namespace narrowgauge {

// Whether the name matches; * stands for any characters, ? for one.
bool matches_wildcard(std::string_view pattern, std::string_view name);

}  // namespace narrowgauge
