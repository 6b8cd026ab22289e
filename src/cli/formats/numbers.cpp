// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text/nearest.h"
#include "cli/common/json.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/formats/formats.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

std::optional<std::uint64_t> parse_bits(std::string_view text) {
  const bool hex = text.starts_with("0x"), binary = text.starts_with("0b");
  if (!hex && !binary) return {};
  std::uint64_t bits = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, bits, hex ? 16 : 2);
  if (error != std::errc() || stop != end || text.size() == 2) return {};
  return bits;
}

double number_of_bits(const std::string& text, std::size_t colon) {
  const std::string name = text.substr(0, colon);
  const NumberFormat* format = find_number_format(name);
  std::vector<std::string> names;
  for (const NumberFormat& known : number_formats()) names.emplace_back(known.name);
  require(format != nullptr, "formats: expected one of ", choices(names),
          " before the colon, got \"", name, '"', suggestion(name, names));
  const auto bits = parse_bits(std::string_view(text).substr(colon + 1));
  const bool fits = bits && (format->bits() == 64 || *bits >> format->bits() == 0);
  require(fits, "formats: expected ", format->bits(), " bits such as ", name, ":0x1, got \"", text,
          '"');
  return from_pattern(*format, *bits);
}

double parse_number(const std::string& text) {
  if (const std::size_t colon = text.find(':'); colon != std::string::npos)
    return number_of_bits(text, colon);
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (hex) digits.remove_prefix(2);
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(
      digits.data(), end, value, hex ? std::chars_format::hex : std::chars_format::general);
  const bool whole = error != std::errc::invalid_argument && stop == end && digits[0] != '-';
  require(whole, "formats: expected a number, or bits such as f16:0x3c00, got \"", text, '"');
  require(error != std::errc::result_out_of_range, "formats: ", text,
          " is beyond what f64 can hold");
  return negative ? -value : value;
}

std::string binary(std::uint64_t bits, int count) {
  std::string text;
  for (int i = count - 1; i >= 0; --i) text += bits >> i & 1 ? '1' : '0';
  return text;
}

// sign|exponent|fraction; a fraction longer than f32's is in hexadecimal digits.
std::string bits_text(const NumberFormat& format, std::uint64_t pattern) {
  if (!format.is_float()) return binary(pattern, format.bits());
  const int fraction = format.fraction_bits;
  const std::uint64_t low = pattern & ((std::uint64_t{1} << fraction) - 1);
  std::string text = format.has_sign ? binary(pattern >> (format.bits() - 1), 1) + '|' : "";
  text += binary(pattern >> fraction & ((std::uint64_t{1} << format.exponent_bits) - 1),
                 format.exponent_bits);
  if (fraction > 23) return text + fmt::format("|0x{:0{}x}", low, (fraction + 3) / 4);
  return fraction > 0 ? text + '|' + binary(low, fraction) : text;
}

std::string value_text(const NumberFormat& format, double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinity" : "-infinity";
  return fmt::format("{:.{}g}", value, format.fraction_bits > 23 ? 17 : 9);
}

// A number in one format.
struct Entry {
  const NumberFormat* format;
  double asked, value;  // in units of the scale where there is one
  std::uint64_t pattern;
  double scale = 1;

  Entry(const NumberFormat& f, double number, double i8_scale)
      : format(&f), asked(number), pattern(0) {
    if (!f.is_float()) scale = i8_scale;
    pattern = to_pattern(f, asked / scale);
    value = from_pattern(f, pattern) * scale;
  }
  Fate fate() const { return narrowgauge::fate(*format, asked / scale); }
  bool has_error() const { return std::isfinite(asked) && std::isfinite(value); }
  double error() const { return std::fabs(value - asked); }
  double relative() const { return asked == 0 ? 0 : error() / std::fabs(asked); }
  double units() const {
    const double step = step_at(*format, value / scale) * scale;
    return step > 0 ? error() / step : 0;
  }
  Neighbours beside() const {
    Neighbours found = neighbours(*format, value / scale);
    if (found.below) *found.below *= scale;
    if (found.above) *found.above *= scale;
    return found;
  }
};

// The number of bits left of the fraction and of the one before it.
int kept_bits(const Entry& entry) {
  return std::ilogb(std::fabs(entry.value)) - std::ilogb(entry.format->least) + 1;
}

bool is_subnormal(const Entry& entry) {
  const NumberFormat& format = *entry.format;
  return format.is_float() && entry.value != 0 && std::fabs(entry.value) < format.least_normal;
}

std::string lost_text(const Entry& entry) {
  if (std::isnan(entry.asked))
    return "has no NaN: becomes " + value_text(*entry.format, entry.value);
  return entry.asked == 0 ? "has no zero: becomes NaN" : "has no sign: becomes NaN";
}

std::string fate_text(const Entry& entry) {
  const std::string bits = is_subnormal(entry)
                               ? fmt::format("subnormal, {} of {} bits", kept_bits(entry),
                                             entry.format->fraction_bits + 1)
                               : "";
  switch (entry.fate()) {
    case Fate::exact:
      return bits.empty() ? "exact" : "exact, " + bits;
    case Fate::rounded:
      return "rounded";
    case Fate::subnormal:
      return bits.empty() ? "rounded up to the smallest normal" : "rounded, " + bits;
    case Fate::flushed:
      return "flushed to zero";
    case Fate::saturated:
      return "too large: stays at the largest";
    case Fate::overflow:
      return "overflows to " + value_text(*entry.format, entry.value);
    case Fate::lost:
      return lost_text(entry);
  }
  return "";
}

std::string word(Fate fate) {
  constexpr const char* words[] = {"exact",     "rounded",  "subnormal", "flushed",
                                   "saturated", "overflow", "lost"};
  return words[static_cast<std::size_t>(fate)];
}

std::vector<Entry> entries_of(const FormatsFlags& flags, double number) {
  std::vector<Entry> entries;
  for (const NumberFormat* format : chosen_formats(flags))
    entries.emplace_back(*format, number, flags.scale.value_or(1));
  return entries;
}

void add_row(TextTable& table, const Entry& entry) {
  const auto beside = entry.beside();
  const auto text = [&](const std::optional<double>& value) {
    return value ? value_text(*entry.format, *value) : "-";
  };
  const auto number = [&](double value) {
    return entry.has_error() ? fmt::format("{:.3g}", value) : "-";
  };
  table.add({std::string(entry.format->name), bits_text(*entry.format, entry.pattern),
             value_text(*entry.format, entry.value), number(entry.error()),
             number(entry.relative()), number(entry.units()), text(beside.below),
             text(beside.above), fate_text(entry)});
}

// Adds a number, or a word where JSON has no such number.
void add_number(JsonObject& json, const char* key, std::optional<double> value) {
  if (!value)
    json.add_null(key);
  else if (std::isfinite(*value))
    json.add(key, *value);
  else
    json.add(key, std::isnan(*value) ? "nan" : *value > 0 ? "inf" : "-inf");
}

JsonObject entry_json(const Entry& entry) {
  JsonObject json;
  json.add("format", entry.format->name).add("bits", bits_text(*entry.format, entry.pattern));
  json.add("pattern", fmt::format("0x{:x}", entry.pattern));
  add_number(json, "value", entry.value);
  json.add("fate", word(entry.fate()));
  const bool has = entry.has_error();
  add_number(json, "error", has ? std::optional(entry.error()) : std::nullopt);
  add_number(json, "relative_error", has ? std::optional(entry.relative()) : std::nullopt);
  add_number(json, "error_in_ulp", has ? std::optional(entry.units()) : std::nullopt);
  const auto beside = entry.beside();
  add_number(json, "below", beside.below);
  add_number(json, "above", beside.above);
  return json;
}

}  // namespace

std::vector<const NumberFormat*> chosen_formats(const FormatsFlags& flags) {
  std::vector<const NumberFormat*> chosen;
  for (const NumberFormat& format : number_formats())
    if (flags.formats.empty() ||
        std::ranges::find(flags.formats, format.name) != flags.formats.end())
      chosen.push_back(&format);
  return chosen;
}

std::string number_tables(const FormatsFlags& flags) {
  require(flags.scale.value_or(1) > 0, "formats: --scale must be above 0");
  std::string out;
  for (const std::string& text : flags.numbers) {
    const double number = parse_number(text);
    TextTable table({words("format"), folding("sign|exponent|fraction", 17, 1), numbers("value"),
                     numbers("error"), numbers("relative", 2), numbers("ulp", 5),
                     numbers("below", 4), numbers("above", 3), folding("", 16)});
    for (const Entry& entry : entries_of(flags, number)) add_row(table, entry);
    const std::string read = value_text(number_formats()[0], number);
    out += (out.empty() ? "" : "\n") + text + (text == read ? "" : " = " + read) + '\n';
    out += table.text(output_width());
  }
  return out;
}

std::string number_tables_json(const FormatsFlags& flags) {
  require(flags.scale.value_or(1) > 0, "formats: --scale must be above 0");
  std::vector<JsonObject> numbers;
  for (const std::string& text : flags.numbers) {
    const double number = parse_number(text);
    std::vector<JsonObject> rows;
    for (const Entry& entry : entries_of(flags, number)) rows.push_back(entry_json(entry));
    JsonObject json;
    json.add("number", text);
    add_number(json, "value", number);
    numbers.push_back(std::move(json.add("formats", rows)));
  }
  JsonObject json;
  return json.add("numbers", numbers).line();
}

}  // namespace narrowgauge::cli
