// SPDX-License-Identifier: Apache-2.0
// Language models: networks that say for each token of a text which one follows. Their input is
// "tokens" i64 [N, sequence], their logits are [N, sequence, vocabulary]; no logit depends on later
// tokens.
#pragma once

#include <cstdint>
#include <string_view>

#include "narrowgauge/losses.h"
#include "narrowgauge/models.h"

namespace narrowgauge {

// A decoder as GPT-2's (Radford et al. 2019): normalization before attention and feed-forward, GELU
// with the error function. Parameters are named as in Hugging Face's GPT2LMHeadModel; matrices are
// [outputs, inputs], as in nanoGPT, where Hugging Face has them transposed.
struct NG_API TransformerSize {
  std::int64_t layers = 4, width = 128, heads = 4;  // heads: of attention, they divide the width
  std::int64_t inner = 0;                           // of the feed-forward; 0: four times the width
  double dropout = 0;   // of embeddings, attention and both sums of a layer
  bool rotary = false;  // positions turn queries and keys (Su et al. 2021), else are learned
  bool tied = true;     // the table of tokens gives the logits too
};
// Throws UsageError for a width that the heads do not divide, and fewer than one of anything.
NG_API BuildNetwork tiny_transformer(const TransformerSize& size, TextShape text);

// LSTM layers over embedded tokens; each window begins with a state of zeros. Parameters are those
// of PyTorch's Embedding "embedding", LSTM "lstm" and Linear "head".
struct NG_API LstmSize {
  std::int64_t layers = 2, width = 256;  // width: of embeddings and states
  double dropout = 0;                    // of embeddings and the outputs of layers
};
// Throws UsageError for fewer than one of anything.
NG_API BuildNetwork lstm_language_model(const LstmSize& size, TextShape text);

// The mean cross entropy of the next tokens: takes logits [N, sequence, vocabulary] and labels i64
// [N, sequence]. Labels of -100 (no_target) do not count.
NG_API Loss next_token_cross_entropy();

// Whether a built-in network is a language model: "tiny-transformer", "lstm".
NG_API bool is_language_model(std::string_view name);

// What may be chosen of a built-in language model; 0 or below: what is usual for it.
struct NG_API LanguageModelSize {
  std::int64_t layers = 0, width = 0, heads = 0;  // heads: of attention alone
  double dropout = -1;                            // see TransformerSize and LstmSize
  bool operator==(const LanguageModelSize&) const = default;
};
// A language model by its name. Throws ModelError for an unknown name, UsageError for sizes that do
// not fit, and for heads of a network without attention.
NG_API BuildNetwork find_language_model(std::string_view name, TextShape text,
                                        const LanguageModelSize& size = {});

}  // namespace narrowgauge
