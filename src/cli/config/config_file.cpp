// SPDX-License-Identifier: Apache-2.0
#include "cli/config/config_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "base/text/ascii.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

struct Place {
  const std::string& path;
  int line = 0;
};

template <class... Parts>
void require_at(const Place& place, bool holds, const Parts&... parts) {
  require(holds, place.path, ':', place.line, ": ", parts...);
}

// A setting or the head of a section on one line, without comments, and without blanks that mean
// nothing: "a=[1,2]".
struct Statement {
  int line = 0;
  std::string text;
};

bool is_quote(char c) { return c == '"' || c == '\''; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_mark(char c) { return std::string_view("=,[]").find(c) != std::string_view::npos; }

// Cuts a text into statements: a list may go on over several lines.
class StatementReader {
 public:
  explicit StatementReader(const std::string& path) : path_(path) {}

  void add_line(std::string_view line) {
    ++line_;
    if (open_lists_ == 0) statement_ = {line_, ""};
    for (const char c : line) {
      if (c == '#' && quote_ == 0) break;
      add(c);
    }
    require_at({path_, line_}, quote_ == 0, "a text has no closing ", quote_);
    blank_ = true;
    if (open_lists_ > 0 || statement_.text.empty()) return;
    require_at({path_, line_}, open_lists_ == 0, "a ] closes no list");
    done_.push_back(std::move(statement_));
  }

  std::vector<Statement> end() && {
    require_at({path_, statement_.line}, open_lists_ == 0, "a list has no closing ]");
    return std::move(done_);
  }

 private:
  void add(char c) {
    std::string& text = statement_.text;
    if (quote_ != 0) {
      require_at({path_, line_}, c != '\\' || quote_ == '\'',
                 "\\ can stand only between 'single quotes'");
      if (c == quote_) quote_ = 0;
      text += c;
      return;
    }
    if (is_blank(c)) {
      blank_ = true;
      return;
    }
    if (blank_ && !text.empty() && !is_mark(text.back()) && !is_mark(c)) text += ' ';
    blank_ = false;
    if (is_quote(c)) quote_ = c;
    open_lists_ += c == '[' ? 1 : c == ']' ? -1 : 0;
    text += c;
  }

  const std::string& path_;
  int line_ = 0, open_lists_ = 0;
  char quote_ = 0;  // that closes the text at hand; 0: outside of texts
  bool blank_ = false;
  Statement statement_;
  std::vector<Statement> done_;
};

std::vector<Statement> statements_of(const std::string& text, const std::string& path) {
  StatementReader reader(path);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) reader.add_line(line);
  return std::move(reader).end();
}

// "+1_000" as "1000", which flags take.
std::string plain_number(const std::string& text) {
  const auto is_digit_at = [&](std::size_t i) { return i < text.size() && is_digit(text[i]); };
  std::string plain;
  for (std::size_t i = text.starts_with('+') ? 1 : 0; i < text.size(); ++i)
    if (text[i] != '_' || i == 0 || !is_digit_at(i - 1) || !is_digit_at(i + 1)) plain += text[i];
  return plain;
}

bool is_number(std::string_view text) {
  double value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

bool skip(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

// Takes a value that CLI11 read off the text in which it must stand just so.
ConfigValue take_value(std::string_view& rest, const std::string& read, const Place& place) {
  using Kind = ConfigValue::Kind;
  for (const char quote : {'"', '\''})
    if (read.find(quote) == std::string::npos && skip(rest, quote + read + quote))
      return {Kind::text, read};
  const std::string bare(rest.substr(0, rest.find_first_of(",]")));
  const bool boolean = bare == "true" || bare == "false";
  const std::string number = plain_number(bare);
  require_at(place, bare == read && (boolean || is_number(number)),
             "expected a text in \"quotes\", a number, true, false or a [list] of these, got ",
             bare.empty() ? "nothing" : bare);
  rest.remove_prefix(bare.size());
  return boolean ? ConfigValue{Kind::boolean, bare} : ConfigValue{Kind::number, number};
}

std::vector<ConfigValue> values_of(std::string_view rest, const std::vector<std::string>& read,
                                   const Place& place) {
  std::vector<ConfigValue> values;
  const bool is_list = skip(rest, "[");
  for (const std::string& value : read) {
    if (!values.empty())
      require_at(place, is_list && skip(rest, ","),
                 is_list ? "expected a comma" : "expected one value", " before ", rest);
    values.push_back(take_value(rest, value, place));
  }
  if (is_list) {
    if (!values.empty()) skip(rest, ",");
    require_at(place, skip(rest, "]"), "expected ], got ", rest);
  }
  require_at(place, rest.empty(), "expected nothing behind the value, got ", rest);
  return values;
}

std::vector<CLI::ConfigItem> items_of(const std::string& statement) {
  CLI::ConfigTOML reader;
  reader.comment('\n');  // a # that is left stands in a text
  std::istringstream text(statement);
  return reader.from_config(text);
}

std::string section_of(const Statement& statement, const Place& place) {
  const std::string& text = statement.text;
  const std::string name = text.substr(1, text.size() - 2);
  const bool whole = text.ends_with(']') && name.find_first_of("[],=. '\"") == std::string::npos;
  require_at(place, whole && !name.empty(), "expected [COMMAND], got ", text);
  return name;
}

ConfigEntry entry_of(const Statement& statement, const std::string& section, const Place& place) {
  const std::string& text = statement.text;
  const std::size_t equals = text.find('=');
  const std::vector<CLI::ConfigItem> items = items_of(text);
  const bool whole = equals != std::string::npos && items.size() == 1 && equals > 0 &&
                     items.front().name == text.substr(0, equals);
  require_at(place, whole, "expected a setting such as epochs = 3, got ", text);
  const CLI::ConfigItem& item = items.front();
  const std::string_view value = std::string_view(text).substr(equals + 1);
  return {statement.line, section, item.name, value.starts_with('['),
          values_of(value, item.inputs, place)};
}

}  // namespace

std::vector<ConfigEntry> parse_config(const std::string& text, const std::string& path) {
  std::vector<ConfigEntry> entries;
  std::string section;
  for (const Statement& statement : statements_of(text, path)) {
    const Place place{path, statement.line};
    if (statement.text.starts_with('[')) {
      section = section_of(statement, place);
      continue;
    }
    const ConfigEntry entry = entry_of(statement, section, place);
    const auto same = std::ranges::find_if(entries, [&](const ConfigEntry& earlier) {
      return earlier.section == entry.section && earlier.key == entry.key;
    });
    require_at(place, same == entries.end(), entry.key, " is set in line ",
               same == entries.end() ? 0 : same->line, " already");
    entries.push_back(entry);
  }
  return entries;
}

std::string config_text(const std::string& text) {
  const auto has = [&](const char* characters) {
    return text.find_first_of(characters) != std::string::npos;
  };
  const bool control =
      std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
  require(!control && !(has("\"\\") && has("'")), "--dump-config: a settings file cannot hold ",
          text, ", which has control characters or both kinds of quotes");
  return has("\"\\") ? concat('\'', text, '\'') : concat('"', text, '"');
}

}  // namespace narrowgauge::cli
