// SPDX-License-Identifier: Apache-2.0
#include "io/tokenizers/token_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files/open_file.h"
#include "base/text/json_reading.h"
#include "base/text/utf8.h"
#include "base/threads/parallel.h"
#include "narrowgauge/error.h"

namespace narrowgauge {

namespace {

constexpr std::size_t longest_token = 4096;  // bytes

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character next = first_character(text);
    if (next.bytes == 0) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

// Visits lines without their ends, and what messages call them.
void for_each_line(const std::string& path,
                   FunctionRef<void(std::string_view line, const std::string& where)> visit) {
  const std::string all = read_text_file(path);
  std::string_view rest(all);
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string where = concat(path, ", line ", number);
    require<DataError>(line.size() <= longest_token, where, ": expected a token of at most ",
                       longest_token, " bytes, found ", line.size());
    require<DataError>(line.find('\0') == std::string_view::npos, where, ": holds a NUL byte");
    require<DataError>(is_utf8(line), where, ": is no UTF-8");
    visit(line, where);
  }
}

}  // namespace

std::vector<std::string> read_token_lines(const std::string& path) {
  std::vector<std::string> tokens;
  for_each_line(path, [&](std::string_view line, const std::string& where) {
    require<DataError>(!line.empty(), where, ": expected a token, found an empty line");
    tokens.emplace_back(line);
  });
  return tokens;
}

std::vector<std::string> read_merge_lines(const std::string& path) {
  std::vector<std::string> merges;
  for_each_line(path, [&](std::string_view line, const std::string&) {
    const bool head = line.starts_with("#version");
    if (!head && !line.empty()) merges.emplace_back(line);
  });
  return merges;
}

std::vector<std::string> read_token_json(const std::string& path) try {
  using Json = nlohmann::json;
  const std::string text = read_text_file(path);
  const auto json = parse_guarded_json<Json>(text, [&](int depth, JsonEvent, std::string_view) {
    require<DataError>(depth <= 1, path, ": expected tokens with their numbers, found more inside");
  });
  require<DataError>(json.is_object() && !json.empty(), path,
                     ": expected an object of tokens with their numbers");
  std::vector<std::string> tokens(json.size());
  std::vector<bool> taken(json.size());
  for (const auto& [token, number] : json.items()) {
    const bool fits = number.is_number_unsigned() && number.get<std::uint64_t>() < tokens.size();
    require<DataError>(fits, path, ": token '", token, "': expected a number from 0 to ",
                       tokens.size() - 1, ", as there are ", tokens.size(), " tokens, found ",
                       number.dump());
    const auto place = number.get<std::size_t>();
    require<DataError>(!taken[place], path, ": tokens '", tokens[place], "' and '", token,
                       "' have the same number ", place);
    require<DataError>(token.size() <= longest_token, path, ": expected tokens of at most ",
                       longest_token, " bytes, found ", token.size());
    taken[place] = true;
    tokens[place] = token;
  }
  return tokens;
} catch (const nlohmann::json::exception& error) {
  throw DataError(concat(path, ": expected JSON of tokens with their numbers: ", error.what()));
}

}  // namespace narrowgauge
