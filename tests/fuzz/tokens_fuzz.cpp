// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of text, and as tokens of each kind.
#include "fuzz/fuzz.h"
#include "fuzz/small_tokenizers.h"
#include "narrowgauge/text_data.h"

using namespace narrowgauge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  static const auto wordpiece = fuzz::wordpiece_of(fuzz::small_vocabulary, false);
  static const auto cased = fuzz::wordpiece_of(fuzz::small_vocabulary, true);
  static const auto bpe = fuzz::bpe_of(fuzz::byte_vocabulary(), fuzz::small_merges);
  const auto bytes = make_tokenizer({.kind = "bytes"}, text);
  const auto characters = make_tokenizer({.kind = "character"}, text);
  const auto words = make_tokenizer({.kind = "word"}, text);
  for (const auto& each : {wordpiece, cased, bpe, bytes, characters, words}) {
    const std::vector<std::int32_t> tokens = each->encode(text);
    const std::string decoded = each->decode(tokens);
    const bool keeps_bytes = each == bpe || each == bytes;
    fuzz::must(!keeps_bytes || decoded == text);
    fuzz::must(each != characters || each->encode(decoded) == tokens);
    fuzz::must(tokens_of(*each, text)->size() == std::ssize(tokens));
  }
  const std::string path = fuzz::write("text.txt", text);
  fuzz::take([&] { fuzz::must(read_text(path).train.size() > 0); });
  fuzz::take([&] {
    const TextSplit split = read_text(path, {.utf8 = false});
    fuzz::must(split.train + split.test == text || text.starts_with("\x1f\x8b"));
  });
  return 0;
}
