// SPDX-License-Identifier: Apache-2.0
// What a language model reads and how large it is: flags of `train`, and settings of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "narrowgauge/language_models.h"
#include "narrowgauge/tokenizer.h"

namespace CLI {
class App;
}  // namespace CLI

namespace narrowgauge::cli {

// Flags as typed; empty where a flag was not given.
struct TextFlags {
  std::optional<std::string> tokens, vocabulary, merges;
  std::optional<std::int64_t> least_count, context, layers, width, heads;
  std::optional<double> dropout;
  bool cased = false;

  std::optional<std::string> first_given() const;  // "--tokens", ...
};
void add_text_flags(CLI::App& app, TextFlags& flags);

struct TextSettings {
  std::string tokens = "character";  // kind of the tokenizer
  std::int64_t most = 0, least_count = 1;
  std::string vocabulary, merges;  // paths of its files, if it has some
  bool cased = false;
  std::int64_t context = 128;  // tokens of a window
  LanguageModelSize size;
  std::string tokenizer;  // of a trained run, as JSON; "": it is made from the text
  bool operator==(const TextSettings&) const = default;

  TokenizerOptions tokenizer_options() const;
};

// Throws UsageError for values that make no sense.
TextSettings text_settings(const TextFlags& flags);
void check_text(const TextSettings& settings);  // the same

}  // namespace narrowgauge::cli
