// SPDX-License-Identifier: Apache-2.0
// Vocabularies, merges and saved tokenizers; the first byte says which. A tokenizer that is read
// takes texts, and is saved and read as the same.
#include "fuzz/fuzz.h"
#include "fuzz/small_tokenizers.h"

using namespace narrowgauge;

namespace {

void use(const Tokenizer& tokenizer) {
  const std::string json = tokenizer.json();
  const auto again = tokenizer_of_json(json, "saved");
  fuzz::must(again->json() == json && again->size() == tokenizer.size());
  const std::vector<std::int32_t> tokens = tokenizer.encode("a b [UNK] n\xc3\xa9 1\n\xff");
  fuzz::must(tokens == again->encode("a b [UNK] n\xc3\xa9 1\n\xff"));
  tokenizer.decode(tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  fuzz::take([&] {
    switch (data[0] % 4) {
      case 0:
        return use(*tokenizer_of_json(std::string(text), "fuzzed"));
      case 1:
        return use(*fuzz::wordpiece_of(text, data[0] % 8 == 1));
      case 2:
        return use(*fuzz::bpe_of(text, ""));
      default:
        return use(*fuzz::bpe_of(fuzz::byte_vocabulary(), text));
    }
  });
  return 0;
}
