// SPDX-License-Identifier: Apache-2.0
// Reasons to decline, as a list of conditions.
#pragma once

#include <string>

namespace narrowgauge {

// The first reason that is not empty. Each condition returns one, or "" where it holds; those after
// the first that fails are not asked.
template <class... Conditions>
std::string first_reason(Conditions&&... conditions) {
  std::string reason;
  (void)((reason = conditions(), !reason.empty()) || ...);
  return reason;
}

// A reason, unless something holds.
inline std::string unless(bool holds, std::string_view reason) {
  return holds ? std::string() : std::string(reason);
}

}  // namespace narrowgauge
