// SPDX-License-Identifier: Apache-2.0
// Files of settings in TOML: keys with texts, numbers, true or false, or lists of these, at the top
// or in [sections]. What CLI11 reads otherwise than TOML means it is refused.
#pragma once

#include <string>
#include <vector>

namespace narrowgauge::cli {

struct ConfigValue {
  enum class Kind { text, number, boolean };
  Kind kind = Kind::text;
  std::string text;  // without quotes
};

struct ConfigEntry {
  int line = 0;              // where it begins, from 1 on
  std::string section, key;  // section: "" at the top
  bool is_list = false;
  std::vector<ConfigValue> values{};
};

// The entries in their order. Throws UsageError, "PATH:LINE: expected ...", for text of another
// form and for a key that is there twice.
std::vector<ConfigEntry> parse_config(const std::string& text, const std::string& path);

// The text as such a file holds it, in quotes. Throws UsageError for one that it cannot hold.
std::string config_text(const std::string& text);

}  // namespace narrowgauge::cli
