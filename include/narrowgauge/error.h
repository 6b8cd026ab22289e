// SPDX-License-Identifier: Apache-2.0
// Error types, one per cause, and the two checks that throw them. Messages say who, what was
// expected and what came; lower case, no full stop.
#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/export.h"

namespace narrowgauge {

// The caller passed something wrong and can mend it.
struct NG_API UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A model, plan or op that cannot be used here.
struct NG_API ModelError : UsageError {
  using UsageError::UsageError;
};
// A data set, checkpoint or other file that is missing, damaged or does not fit.
struct NG_API DataError : UsageError {
  using UsageError::UsageError;
};
// Training produced a loss that is not finite.
struct NG_API DivergedError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A device is missing or a library call on it failed.
struct NG_API DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A requested comparison did not hold.
struct NG_API CheckError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The engine broke its own invariant: always a bug of ours.
struct NG_API InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

NG_API void append_text(std::string& out, double value);
inline void append_text(std::string& out, std::string_view value) { out += value; }
inline void append_text(std::string& out, const char* value) { out += value; }
inline void append_text(std::string& out, char value) { out += value; }
inline void append_text(std::string& out, bool value) { out += value ? "true" : "false"; }
template <std::integral T>
void append_text(std::string& out, T value) {
  out += std::to_string(value);
}

// "[1,2,3]"
template <class T>
void append_text(std::string& out, const std::vector<T>& values) {
  out += '[';
  for (bool first = true; const T& value : values) {
    if (!first) out += ',';
    first = false;
    append_text(out, value);
  }
  out += ']';
}

// Joins its arguments as text. A type takes part by an append_text(std::string&, const T&) found
// by argument-dependent lookup.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

// Throws Error, whose message is the other arguments joined as text, unless the condition holds.
// The message is only made then.
template <class Error = UsageError, class... Parts>
void require(bool condition, const Parts&... message) {
  if (!condition) [[unlikely]]
    throw Error(concat(message...));
}

}  // namespace narrowgauge

// Throws InternalError with file and line unless the condition holds. No input may reach it.
#define NG_INVARIANT(condition)                                                               \
  do {                                                                                        \
    if (!(condition)) [[unlikely]]                                                            \
      throw ::narrowgauge::InternalError(                                                     \
          ::narrowgauge::concat(__FILE__, ":", __LINE__, ": invariant broken: " #condition)); \
  } while (false)
