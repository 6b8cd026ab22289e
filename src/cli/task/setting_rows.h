// SPDX-License-Identifier: Apache-2.0
// One row for each setting of a run that a flag of `train` gives: its key in run.json, its flag,
// what it may be, and where it lies in Settings. The flags, their help, the checks, run.json,
// --dump-config and --resume are loops over these rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/flags/flags.h"

namespace narrowgauge::cli {

struct Settings;

using SettingValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>,
                                  std::vector<float>>;
using SettingPlace = std::variant<bool*, int*, std::int64_t*, double*, std::string*,
                                  std::vector<std::string>*, std::vector<float>*>;
// The values that flags gave, by the keys of their rows.
using GivenSettings = std::map<std::string, SettingValue>;

// Under which heading of `train --help` a flag stands.
enum class SettingGroup : std::uint8_t { run, data, network, training, ending };

struct SettingRow {
  std::string key;  // in run.json
  SettingGroup group;
  Flag flag;  // without names: no flag gives the setting
  SettingPlace (*at)(Settings&);
  double least = 0, most = 1e30;            // of a number
  std::vector<std::string> words{};         // if any, a text is one of these
  void (*check)(const SettingValue&) = {};  // of what limits and words cannot say: UsageError
  std::optional<std::int64_t> unset{};      // the number that stands for "what suits"
  bool turns_off = false;                   // the flag is a switch that makes the setting false
  bool from_the_first = false;              // every run.json has it; later ones may lack the key

  std::string flag_name() const;  // "--epochs"
};

const std::vector<SettingRow>& setting_rows();

SettingValue value_of(const SettingRow& row, const Settings& settings);
void set_value(const SettingRow& row, Settings& settings, const SettingValue& value);

// Adds the flags of a group; what they give goes to `given`.
void add_setting_flags(CLI::App& app, SettingGroup group, GivenSettings& given);
// Throws UsageError naming the flag of the first setting that is not what its row allows.
void check_rows(const Settings& settings);
void take_given(Settings& settings, const GivenSettings& given);

// The value given for a key, or nothing. T is the type that SettingValue has for it.
template <class T>
std::optional<T> given_value(const GivenSettings& given, const char* key) {
  const auto found = given.find(key);
  if (found == given.end()) return std::nullopt;
  return std::get<T>(found->second);
}

}  // namespace narrowgauge::cli
