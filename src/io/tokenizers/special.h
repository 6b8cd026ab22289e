// SPDX-License-Identifier: Apache-2.0
// Tokens with a meaning of their own, such as "[SEP]", which stand in a text as they are.
#pragma once

#include <functional>

#include "base/threads/parallel.h"
#include "io/tokenizers/tokenizer.h"

namespace narrowgauge {

class SpecialTokens {
 public:
  // The special tokens among `texts` that the vocabulary has.
  SpecialTokens(const TokenNumbers& numbers, std::span<const std::string_view> texts);

  // Visits the parts of a text in their order: special tokens, and what stands between them.
  void for_each_part(std::string_view text, FunctionRef<void(std::int32_t token)> special,
                     FunctionRef<void(std::string_view text)> other) const;
  bool contains(std::int32_t token) const;

 private:
  struct Special {
    std::string_view text;
    std::int32_t token;
  };
  std::vector<Special> specials_;
};

}  // namespace narrowgauge
