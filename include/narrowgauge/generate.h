// SPDX-License-Identifier: Apache-2.0
// Continues a text with a language model: any network whose input is tokens i64 [N, context] and
// whose output is logits [N, context, vocabulary].
//
//   Model model("bard", find_language_model("tiny-transformer", {128, tokenizer->size()}));
//   model.load("runs/bard");
//   generate(model, *tokenizer, "ROMEO:", {.length = 400, .sampling = {.temperature = 0.8}},
//            [](std::string_view text) { std::cout << text << std::flush; return true; });
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/model.h"
#include "narrowgauge/tokenizer.h"

namespace narrowgauge {

// How the next token is chosen. Limits apply in this order.
struct NG_API SamplingOptions {
  double temperature = 1;  // logits are divided by it; 0: always the most probable token
  std::int64_t top_k = 0;  // only the so many most probable ones; 0: all
  // Only the most probable ones of these that together reach this share (Holtzman et al. 2020).
  double top_p = 1;
  std::uint64_t seed = 1;  // of the draws
};

// Draws tokens, each draw a function of the seed and of how many there were before.
class NG_API Sampler {
 public:
  // Throws UsageError for a temperature or top_k below 0 and a top_p not above 0 up to 1.
  explicit Sampler(const SamplingOptions& options);
  // A token by its logits [vocabulary]. Throws DivergedError unless all are finite.
  std::int32_t next(std::span<const float> logits);
  // The probability with which each token is drawn.
  std::vector<double> probabilities(std::span<const float> logits) const;

 private:
  SamplingOptions options_;
  std::uint64_t draws_ = 0;
};

// What generate() does.
struct NG_API GenerateOptions {
  std::int64_t length = 256;   // tokens at most
  SamplingOptions sampling{};  // how each is chosen
  std::string stop{};          // ends with the token that completes this text; "": does not
};

// What generate() made.
struct NG_API Generation {
  std::vector<std::int32_t> tokens;  // without the prompt
  std::string text;                  // of the tokens, with U+FFFD for what is no whole character
  bool stopped = false;              // by the stop text, or by the callback
  double tokens_per_second = 0;      // after the first, which compiles
};

// Takes the next tokens; returns false to stop.
using TakeToken = std::function<bool(std::int32_t token)>;
// Takes the next characters of the text; returns false to stop.
using TakeText = std::function<bool(std::string_view text)>;

// Draws `length` tokens behind a prompt of at least one token; the model sees the last ones that
// fit its context. Throws UsageError for a model of other inputs and outputs, a prompt without
// tokens or with others than the model's; see Sampler.
NG_API std::vector<std::int32_t> generate_tokens(Model& model, std::span<const std::int32_t> prompt,
                                                 std::int64_t length,
                                                 const SamplingOptions& sampling,
                                                 const TakeToken& take = {});

// Continues a text. Without a prompt it begins as behind a line feed, or where the tokenizer has
// none, behind token 0. Throws as generate_tokens() does.
NG_API Generation generate(Model& model, const Tokenizer& tokenizer, std::string_view prompt,
                           const GenerateOptions& options = {}, const TakeText& take = {});

// The tokens of one sample that a language model sees. Throws UsageError where it is none.
NG_API std::int64_t context_of(const Model& model);

}  // namespace narrowgauge
