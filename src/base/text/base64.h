// SPDX-License-Identifier: Apache-2.0
// Bytes as text by RFC 4648, section 4, with padding.
#pragma once

#include <string>
#include <string_view>

namespace narrowgauge {

std::string base64(std::string_view bytes);

}  // namespace narrowgauge
