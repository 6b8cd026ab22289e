// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/text_settings.h"

#include <charconv>

#include "cli/common/text.h"
#include "cli/flags/flags.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {

std::optional<std::string> TextFlags::first_given() const {
  if (tokens) return "--tokens";
  if (vocabulary) return "--vocabulary";
  if (merges) return "--merges";
  if (least_count) return "--least-count";
  if (cased) return "--cased";
  if (context) return "--context";
  if (layers) return "--layers";
  if (width) return "--width";
  if (heads) return "--heads";
  if (dropout) return "--dropout";
  return std::nullopt;
}

void add_text_flags(CLI::App& app, TextFlags& flags) {
  const std::vector<std::string> kinds = tokenizer_kinds();
  add_word(app, {"--tokens", "K", "of a text: " + choices(kinds, "character")}, flags.tokens,
           kinds);
  add_text(app, {"--vocabulary", "V", "most words, or a file of --tokens wordpiece or bpe"},
           flags.vocabulary);
  add_text(app, {"--merges", "FILE", "of --tokens bpe"}, flags.merges);
  add_whole(app, {"--least-count", "N", "a word of the vocabulary is in the text (1)"},
            flags.least_count, 1);
  add_switch(app, {"--cased", "", "--tokens wordpiece keeps case and accents"}, flags.cased);
  add_whole(app, {"--context", "N", "tokens of a text that a language model sees (128)"},
            flags.context, 1);
  add_whole(app, {"--layers", "N", "of a language model (tiny-transformer: 4, lstm: 2)"},
            flags.layers, 1);
  add_whole(app, {"--width", "N", "of its layers (tiny-transformer: 128, lstm: 256)"}, flags.width,
            1);
  add_whole(app, {"--heads", "N", "of attention (tiny-transformer: 4)"}, flags.heads, 1);
  add_real(app, {"--dropout", "X", "of a language model (0)"}, flags.dropout);
}

TokenizerOptions TextSettings::tokenizer_options() const {
  return {tokens, most, least_count, vocabulary, merges, cased};
}

namespace {

void take_vocabulary(TextSettings& settings, const std::string& text) {
  if (settings.tokens != "word") {
    settings.vocabulary = text;
    return;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), settings.most);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  require(whole && settings.most >= 2,
          "--vocabulary: expected a number of words from 2 on for --tokens word, got \"", text,
          '"');
}

// Flags of a tokenizer go with its kind.
void check_kind(const TextSettings& settings, const TextFlags& flags) {
  const bool has_vocabulary = settings.tokens != "character" && settings.tokens != "bytes";
  const bool has_files = settings.tokens == "wordpiece" || settings.tokens == "bpe";
  require(has_vocabulary || !flags.vocabulary, "--vocabulary: needs --tokens word, wordpiece or ",
          "bpe, got ", settings.tokens);
  require(!has_files || flags.vocabulary, "--tokens ", settings.tokens,
          ": needs its file as --vocabulary");
  require(settings.tokens == "bpe" || !flags.merges, "--merges: needs --tokens bpe");
  require(settings.tokens != "bpe" || flags.merges, "--tokens bpe: needs its file as --merges");
  require(settings.tokens == "word" || !flags.least_count, "--least-count: needs --tokens word");
  require(settings.tokens == "wordpiece" || !flags.cased, "--cased: needs --tokens wordpiece");
}

}  // namespace

TextSettings text_settings(const TextFlags& flags) {
  TextSettings settings;
  settings.tokens = flags.tokens.value_or(settings.tokens);
  check_kind(settings, flags);
  if (flags.vocabulary) take_vocabulary(settings, *flags.vocabulary);
  settings.merges = flags.merges.value_or("");
  settings.least_count = flags.least_count.value_or(settings.least_count);
  settings.cased = flags.cased;
  settings.context = flags.context.value_or(settings.context);
  settings.size = {flags.layers.value_or(0), flags.width.value_or(0), flags.heads.value_or(0),
                   flags.dropout.value_or(-1)};
  check_text(settings);
  return settings;
}

void check_text(const TextSettings& settings) {
  const std::int64_t most = 1 << 20;
  const auto check_size = [most](const char* flag, std::int64_t value, std::int64_t least) {
    require(value >= least && value <= most, flag, ": expected ", least, " to ", most, ", got ",
            value);
  };
  check_size("--context", settings.context, 1);
  check_size("--layers", settings.size.layers, 0);
  check_size("--width", settings.size.width, 0);
  check_size("--heads", settings.size.heads, 0);
  const double dropout = settings.size.dropout;
  require(dropout == -1 || (dropout >= 0 && dropout < 1),
          "--dropout: expected a number from 0 to below 1, got ", dropout);
}

}  // namespace narrowgauge::cli
