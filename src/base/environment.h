// SPDX-License-Identifier: Apache-2.0
// The one place that reads environment variables.
#pragma once

#include <string>
#include <string_view>

namespace narrowgauge {

// The value of NARROWGAUGE_<name>, or "" when it is not set.
std::string environment(std::string_view name);

}  // namespace narrowgauge
