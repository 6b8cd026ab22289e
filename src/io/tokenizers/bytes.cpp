// SPDX-License-Identifier: Apache-2.0
// Each byte is a token, whatever it stands for.
#include "io/tokenizers/tokenizer.h"

namespace narrowgauge {
namespace {

class Bytes : public Tokenizer {
 public:
  std::string_view kind() const override { return "bytes"; }
  std::int64_t size() const override { return 256; }
  bool is_lossless() const override { return true; }
  std::string json() const override { return json_of({.kind = "bytes"}); }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> tokens;
    tokens.reserve(text.size());
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t token : tokens) text += static_cast<char>(token_index(token, size()));
    return text;
  }
};

std::shared_ptr<const Tokenizer> make_bytes(const TokenizerOptions&, std::string_view) {
  return std::make_shared<Bytes>();
}
std::shared_ptr<const Tokenizer> read_bytes(TokenizerContent, const std::string&) {
  return std::make_shared<Bytes>();
}

}  // namespace
}  // namespace narrowgauge

NG_TOKENIZER(bytes, "bytes", "each byte", {}, {}, make_bytes, read_bytes)
