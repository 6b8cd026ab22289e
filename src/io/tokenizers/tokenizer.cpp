// SPDX-License-Identifier: Apache-2.0
#include "io/tokenizers/tokenizer.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text/json_reading.h"
#include "base/text/json_writing.h"
#include "base/text/nearest.h"

namespace narrowgauge {

namespace {

using Json = nlohmann::json;
constexpr int format_version = 1;

const TokenizerKind& find_kind(std::string_view name) {
  const TokenizerKind* const found = find_record(tokenizers(), name);
  require(found, "tokenizer: expected one of ", listed_names(tokenizers()), ", got '", name, '\'',
          suggestion(std::string(name), tokenizer_kinds()));
  return *found;
}

void check(const TokenizerOptions& options, const TokenizerKind& kind) {
  const TokenizerOptions usual;
  const auto check_one = [&](std::string_view member, bool given) {
    const bool takes = std::ranges::find(kind.takes, member) != kind.takes.end();
    const bool needs = std::ranges::find(kind.needs, member) != kind.needs.end();
    require(!given || takes || needs, "tokenizer ", kind.name, ": takes no ", member);
    require(given || !needs, "tokenizer ", kind.name, ": needs a file of ", member);
  };
  check_one("most", options.most != usual.most);
  check_one("least_count", options.least_count != usual.least_count);
  check_one("vocabulary", !options.vocabulary.empty());
  check_one("merges", !options.merges.empty());
  check_one("cased", options.cased);
}

std::vector<std::string> texts(const Json& json, const char* key) {
  return json.contains(key) ? json.at(key).get<std::vector<std::string>>()
                            : std::vector<std::string>();
}

TokenizerContent content_of(const Json& json, const std::string& name) {
  const auto version = json.at("version").get<int>();
  require<DataError>(version == format_version, name, ": is of version ", version,
                     ", this program reads ", format_version);
  return {json.at("kind").get<std::string>(), json.value("cased", true), texts(json, "tokens"),
          texts(json, "merges")};
}

}  // namespace

Tokenizer::~Tokenizer() = default;

std::vector<std::string> tokenizer_kinds() { return names_of(tokenizers()); }

std::shared_ptr<const Tokenizer> make_tokenizer(const TokenizerOptions& options,
                                                std::string_view text) {
  const TokenizerKind& kind = find_kind(options.kind);
  check(options, kind);
  return kind.make(options, text);
}

std::string json_of(const TokenizerContent& content) {
  std::string text =
      concat("{\n \"version\": ", format_version, ",\n \"kind\": ", json_text<Json>(content.kind));
  if (!content.cased) text += ",\n \"cased\": false";
  const auto add = [&](std::string_view key, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    text += concat(",\n \"", key, "\": [");
    for (const char* comma = ""; const std::string& each : texts) {
      text += concat(comma, "\n  ", json_text<Json>(each));
      comma = ",";
    }
    text += "\n ]";
  };
  add("tokens", content.tokens);
  add("merges", content.merges);
  return text + "\n}\n";
}

std::shared_ptr<const Tokenizer> tokenizer_of_json(const std::string& json,
                                                   const std::string& name) try {
  constexpr int deepest = 2;  // an object of lists of texts
  TokenizerContent content = content_of(parse_json<Json>(json, name, deepest), name);
  const TokenizerKind* const kind = find_record(tokenizers(), content.kind);
  require<DataError>(kind, name, ": is damaged: expected one of ", listed_names(tokenizers()),
                     " as its kind, found '", content.kind, '\'');
  return kind->read(std::move(content), name);
} catch (const Json::exception& error) {
  throw DataError(concat(name, ": is damaged: ", error.what()));
}

TokenNumbers numbers_of(const std::vector<std::string>& tokens, const std::string& name) {
  require<DataError>(!tokens.empty(), name, ": expected tokens, found none");
  require<DataError>(tokens.size() <= std::numeric_limits<std::int32_t>::max(), name, ": has ",
                     tokens.size(), " tokens, more than 32 bits can number");
  TokenNumbers numbers;
  numbers.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto [first, is_new] = numbers.emplace(tokens[i], static_cast<std::int32_t>(i));
    require<DataError>(is_new, name, ": token ", i + 1, ", '", tokens[i],
                       "', is the same as token ", first->second + 1);
  }
  return numbers;
}

std::size_t token_index(std::int32_t token, std::int64_t size) {
  require(token >= 0 && token < size, "tokenizer: expected tokens from 0 to ", size - 1, ", got ",
          token);
  return static_cast<std::size_t>(token);
}

}  // namespace narrowgauge
