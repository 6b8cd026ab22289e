// SPDX-License-Identifier: Apache-2.0
#include "cli/task/setting_rows.h"

#include <algorithm>
#include <functional>
#include <type_traits>

#include "cli/common/text.h"
#include "cli/task/settings.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

const SettingRow& row_of(const std::string& key) {
  const auto found = std::ranges::find(setting_rows(), key, &SettingRow::key);
  NG_INVARIANT(found != setting_rows().end());
  return *found;
}

// Adds the flag of a row, by the type of its setting.
class FlagOfRow {
 public:
  FlagOfRow(CLI::App& app, const SettingRow& row, GivenSettings& given)
      : app_(app), row_(row), given_(given) {}

  void operator()(const bool*) const {
    add_choice(app_, row_.flag, [row = &row_, given = &given_](bool on) {
      (*given)[row->key] = on != row->turns_off;
    });
  }
  void operator()(const int*) const { add_whole(app_, row_.flag, taker<std::int64_t>(), least()); }
  void operator()(const std::int64_t*) const { (*this)(static_cast<const int*>(nullptr)); }
  void operator()(const double*) const { add_real(app_, row_.flag, taker<double>(), row_.least); }
  void operator()(const std::string*) const {
    if (row_.words.empty())
      add_text(app_, row_.flag, taker<const std::string&>());
    else
      add_word(app_, row_.flag, taker<const std::string&>(), row_.words);
  }
  void operator()(const std::vector<std::string>*) const {
    if (row_.flag.value.find(',') == std::string::npos)
      add_texts(app_, row_.flag, taker<const std::vector<std::string>&>());
    else
      add_list(app_, row_.flag, taker<const std::vector<std::string>&>());
  }
  void operator()(const std::vector<float>*) const {
    add_text(app_, row_.flag, [row = &row_, given = &given_](const std::string& text) {
      (*given)[row->key] = parse_floats(row->flag_name(), text);
    });
  }

 private:
  std::int64_t least() const { return static_cast<std::int64_t>(row_.least); }
  template <class T>
  std::function<void(T)> taker() const {
    return [key = row_.key, given = &given_](T value) { (*given)[key] = value; };
  }

  CLI::App& app_;
  const SettingRow& row_;
  GivenSettings& given_;
};

void check_number(const SettingRow& row, auto value) {
  using T = decltype(value);
  if (row.unset && static_cast<double>(value) == static_cast<double>(*row.unset)) return;
  require(static_cast<double>(value) >= row.least && static_cast<double>(value) <= row.most,
          row.flag_name(), ": expected ", static_cast<T>(row.least), " to ",
          static_cast<T>(row.most), ", got ", value);
}

// A word may be left out where the usual setting has none.
void check_choice(const SettingRow& row, const std::string& word) {
  const bool may_be_empty = std::get<std::string>(value_of(row, Settings())).empty();
  require((word.empty() && may_be_empty) || std::ranges::find(row.words, word) != row.words.end(),
          row.flag_name(), ": expected ", choices(row.words), ", got \"", word, '"');
}

void check_value(const SettingRow& row, const SettingValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) check_number(row, *whole);
  if (const auto* real = std::get_if<double>(&value)) check_number(row, *real);
  if (!row.words.empty()) check_choice(row, std::get<std::string>(value));
  if (row.check) row.check(value);
}

}  // namespace

std::string SettingRow::flag_name() const { return first_name(flag); }

SettingValue value_of(const SettingRow& row, const Settings& settings) {
  // Places are of settings that may change; this one is only read.
  return std::visit(
      [](auto* place) -> SettingValue {
        if constexpr (std::is_same_v<decltype(place), int*>)
          return std::int64_t{*place};
        else
          return *place;
      },
      row.at(const_cast<Settings&>(settings)));
}

void set_value(const SettingRow& row, Settings& settings, const SettingValue& value) {
  std::visit(
      [&](auto* place) {
        using T = std::remove_pointer_t<decltype(place)>;
        if constexpr (std::is_same_v<T, int>)
          *place = static_cast<int>(
              std::clamp<std::int64_t>(std::get<std::int64_t>(value), INT32_MIN, INT32_MAX));
        else
          *place = std::get<T>(value);
      },
      row.at(settings));
}

void add_setting_flags(CLI::App& app, SettingGroup group, GivenSettings& given) {
  Settings settings;
  for (const SettingRow& row : setting_rows())
    if (row.group == group && !row.flag.names.empty())
      std::visit(FlagOfRow(app, row, given), row.at(settings));
}

void check_rows(const Settings& settings) {
  for (const SettingRow& row : setting_rows()) check_value(row, value_of(row, settings));
}

void take_given(Settings& settings, const GivenSettings& given) {
  for (const auto& [key, value] : given) set_value(row_of(key), settings, value);
}

}  // namespace narrowgauge::cli
