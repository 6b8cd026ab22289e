// SPDX-License-Identifier: Apache-2.0
// Numbers as text for people and files, with a point whatever locale the host has set.
#pragma once

#include <string>

namespace narrowgauge {

std::string general_text(double value, int digits);  // as "%.*g" in C's own locale
std::string fixed_text(double value, int decimals);  // as "%.*f"

}  // namespace narrowgauge
