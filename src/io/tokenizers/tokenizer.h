// SPDX-License-Identifier: Apache-2.0
// What tokenizers have in common. Each is a stem in this folder that the build finds by its mark.
#pragma once

#include <unordered_map>

#include "base/stem_table.h"
#include "narrowgauge/error.h"
#include "narrowgauge/tokenizer.h"

namespace narrowgauge {

// What a tokenizer consists of, as its JSON has it. Each kind uses what it needs.
struct TokenizerContent {
  std::string kind;
  bool cased = true;
  std::vector<std::string> tokens{};  // in the order of their numbers, valid UTF-8
  std::vector<std::string> merges{};  // "a b", the most important first
};

struct TokenizerKind {
  std::string_view name, help;
  // The members of TokenizerOptions that it takes, and those that it needs.
  std::vector<std::string_view> takes{}, needs{};
  std::shared_ptr<const Tokenizer> (*make)(const TokenizerOptions& options, std::string_view text);
  // Throws DataError, beginning with `name`, for what makes no sense.
  std::shared_ptr<const Tokenizer> (*read)(TokenizerContent content, const std::string& name);
};

std::vector<const TokenizerKind*> tokenizers();

std::string json_of(const TokenizerContent& content);

// The first token of a vocabulary made from a text, which stands for all that it lacks.
inline constexpr std::int32_t unknown_token = 0;
inline constexpr std::string_view unknown_text = "<unk>";

// Numbers of tokens by their texts.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
using TokenNumbers = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;
// Throws DataError, beginning with `name`, where two are the same.
TokenNumbers numbers_of(const std::vector<std::string>& tokens, const std::string& name);

// Throws UsageError for a number that is none of `size` tokens.
std::size_t token_index(std::int32_t token, std::int64_t size);

}  // namespace narrowgauge

// NG_TOKENIZER(stem, name, help, takes, needs, make, read) enters a kind.
#define NG_TOKENIZER(stem, ...) NG_STEM(tokenizer_table, TokenizerKind, stem, __VA_ARGS__)
