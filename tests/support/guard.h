// SPDX-License-Identifier: Apache-2.0
// How tests see that nothing was written beside what they gave.
#pragma once

#include <cstddef>
#include <cstring>

namespace narrowgauge::testing_support {

// Whether all of these bytes are `value`. memcmp() is quick in tests too, which are compiled to be
// compiled quickly.
inline bool all_bytes_are(unsigned char value, const void* bytes, std::size_t count) {
  const auto* const first = static_cast<const unsigned char*>(bytes);
  return count == 0 || (*first == value && std::memcmp(first, first + 1, count - 1) == 0);
}

}  // namespace narrowgauge::testing_support
