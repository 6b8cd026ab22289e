// SPDX-License-Identifier: Apache-2.0
// Tokenizers of files that targets and the corpus write.
#pragma once

#include "fuzz/fuzz.h"
#include "io/tokenizers/byte_letters.h"
#include "narrowgauge/tokenizer.h"

namespace narrowgauge::fuzz {

inline std::shared_ptr<const Tokenizer> wordpiece_of(std::string_view vocabulary, bool cased) {
  return make_tokenizer(
      {.kind = "wordpiece", .vocabulary = write("vocab.txt", vocabulary), .cased = cased}, "");
}

inline std::shared_ptr<const Tokenizer> bpe_of(std::string_view vocabulary,
                                               std::string_view merges) {
  return make_tokenizer({.kind = "bpe",
                         .vocabulary = write("vocab.json", vocabulary),
                         .merges = write("merges.txt", merges)},
                        "");
}

// Every byte, three pairs of letters, and GPT-2's end of a text, as JSON.
inline std::string byte_vocabulary() {
  std::string json = "{";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string letter = letter_of(static_cast<unsigned char>(byte));
    const bool escaped = letter == "\"" || letter == "\\";
    json += concat('"', escaped ? "\\" : "", letter, "\": ", byte, ", ");
  }
  return json + R"("ab": 256, "abc": 257, "aa": 258, "<|endoftext|>": 259})";
}

inline constexpr std::string_view small_merges = "#version: 0.2\na b\nab c\na a\n";
inline constexpr std::string_view small_vocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nb\n##b\n##bc\nne\n,\n1\n\xe4\xb8\xad\n";

}  // namespace narrowgauge::fuzz
