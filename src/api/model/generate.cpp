// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/generate.h"

#include <algorithm>
#include <chrono>
#include <deque>

#include "api/model/model_implementation.h"
#include "base/machine/floating_environment.h"
#include "base/text/utf8.h"

namespace narrowgauge {

namespace {

struct LanguagePorts {
  std::int64_t context = 0, vocabulary = 0;
};

LanguagePorts ports_of(const Model& model) {
  const std::vector<ModelPort> inputs = model.inputs(), outputs = model.outputs();
  const auto fits = [](const std::vector<ModelPort>& ports, std::size_t rank) {
    return ports.size() == 1 && ports[0].type && ports[0].type->shape.size() == rank &&
           ports[0].type->shape.back().is_known();
  };
  const bool reads = fits(inputs, 2) && inputs[0].type->dtype == DType::i64;
  const bool scores_each =
      reads && fits(outputs, 3) && outputs[0].type->shape[1] == inputs[0].type->shape[1];
  require(scores_each, "generate: expected a model of tokens i64 [N,context] with ",
          "logits [N,context,vocabulary], '", model.name(), "' is another");
  return {inputs[0].type->shape[1].value(), outputs[0].type->shape[2].value()};
}

// The last tokens of a text, which are what a model sees.
class TokenWindow {
 public:
  TokenWindow(const LanguagePorts& ports, std::span<const std::int32_t> prompt)
      : ports_(ports), tokens_(DType::i64, {1, ports.context}) {
    require(!prompt.empty(), "generate: expected a prompt of at least one token, got none");
    for (const std::int32_t token : prompt) {
      require(token >= 0 && token < ports.vocabulary, "generate: expected tokens from 0 to ",
              ports.vocabulary - 1, ", got ", token);
      add(token);
    }
  }

  void add(std::int32_t token) {
    const std::span<std::int64_t> all = tokens_.values<std::int64_t>();
    if (filled_ == ports_.context) {
      std::shift_left(all.begin(), all.end(), 1);
      --filled_;
    }
    all[static_cast<std::size_t>(filled_++)] = token;
  }

  // The logits of what follows the last token. Tokens behind that one are not seen.
  std::vector<float> logits(Model& model) const {
    const Tensor all = model.predict(tokens_).cast(DType::f32);
    const std::span<const float> values = all.values<float>();
    const auto width = static_cast<std::size_t>(ports_.vocabulary);
    const auto first = values.begin() + (filled_ - 1) * ports_.vocabulary;
    return {first, first + static_cast<std::ptrdiff_t>(width)};
  }

 private:
  LanguagePorts ports_;
  Tensor tokens_;
  std::int64_t filled_ = 0;
};

// Gives out the text of tokens as they come, in whole characters.
class TextStream {
 public:
  TextStream(const Tokenizer& tokenizer, std::vector<std::int32_t> before)
      : tokenizer_(tokenizer), tokens_(std::move(before)) {
    constexpr std::size_t most_before = 8;  // on which the text of a token may depend
    if (tokens_.size() > most_before)
      tokens_.erase(tokens_.begin(), tokens_.end() - std::ptrdiff_t{most_before});
    given_ = tokenizer_.decode(tokens_).size();
  }

  // The text that the token adds, as far as its characters are whole.
  std::string add(std::int32_t token) {
    tokens_.push_back(token);
    const std::string text = tokenizer_.decode(tokens_);
    const std::size_t end = text.size() - unfinished_at_end(text);
    if (end <= given_) return {};
    std::string added = whole_characters(std::string_view(text).substr(given_, end - given_));
    given_ = end;
    if (end == text.size()) forget();
    return added;
  }

  // What was held back, as characters that are not whole.
  std::string rest() const {
    const std::string text = tokenizer_.decode(tokens_);
    return text.size() > given_ ? whole_characters(std::string_view(text).substr(given_))
                                : std::string();
  }

 private:
  // Bytes at the end that begin a character which the next tokens may complete.
  static std::size_t unfinished_at_end(std::string_view text) {
    for (std::size_t bytes = 1; bytes <= std::min<std::size_t>(3, text.size()); ++bytes) {
      const auto first = static_cast<unsigned char>(text[text.size() - bytes]);
      if ((first & 0xc0) == 0x80) continue;
      const std::size_t whole = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
      return whole > bytes && first <= 0xf4 ? bytes : 0;
    }
    return 0;
  }

  static std::string whole_characters(std::string_view text) {
    std::string whole;
    while (!text.empty()) {
      const Character next = first_or_replacement(text);
      append_utf8(whole, next.code);
      text.remove_prefix(next.bytes);
    }
    return whole;
  }

  // Keeps the last tokens, which the text of later ones may depend on.
  void forget() {
    constexpr std::size_t most = 64, kept = 8;
    if (tokens_.size() < most) return;
    tokens_.erase(tokens_.begin(), tokens_.end() - std::ptrdiff_t{kept});
    given_ = tokenizer_.decode(tokens_).size();
  }

  const Tokenizer& tokenizer_;
  std::vector<std::int32_t> tokens_;  // the last ones
  std::size_t given_ = 0;             // bytes of their text that were given out
};

std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, std::string_view prompt) {
  std::vector<std::int32_t> tokens = tokenizer.encode(prompt.empty() ? "\n" : prompt);
  if (tokens.empty()) tokens.push_back(0);
  return tokens;
}

// Times all tokens but the first.
class Rate {
 public:
  void count() {
    const auto now = std::chrono::steady_clock::now();
    if (tokens_++ == 0) first_ = now;
    last_ = now;
  }
  double per_second() const {
    const double seconds = std::chrono::duration<double>(last_ - first_).count();
    return seconds > 0 ? static_cast<double>(tokens_ - 1) / seconds : 0;
  }

 private:
  std::chrono::steady_clock::time_point first_, last_;
  std::int64_t tokens_ = 0;
};

}  // namespace

std::int64_t context_of(const Model& model) { return ports_of(model).context; }

std::vector<std::int32_t> generate_tokens(Model& model, std::span<const std::int32_t> prompt,
                                          std::int64_t length, const SamplingOptions& sampling,
                                          const TakeToken& take) {
  const FloatingEnvironment environment(Subnormals::keep);
  require(length >= 0, "generate: expected a length from 0 on, got ", length);
  Sampler sampler(sampling);
  TokenWindow window(ports_of(model), prompt);
  std::vector<std::int32_t> tokens;
  while (std::ssize(tokens) < length) {
    const std::int32_t token = sampler.next(window.logits(model));
    tokens.push_back(token);
    window.add(token);
    if (take && !take(token)) break;
  }
  return tokens;
}

Generation generate(Model& model, const Tokenizer& tokenizer, std::string_view prompt,
                    const GenerateOptions& options, const TakeText& take) {
  const LanguagePorts ports = ports_of(model);
  require(ports.vocabulary == tokenizer.size(), "generate: the tokenizer has ", tokenizer.size(),
          " tokens, '", model.name(), "' has ", ports.vocabulary);
  const std::vector<std::int32_t> before = prompt_tokens(tokenizer, prompt);
  TextStream stream(tokenizer, before);
  Generation result;
  Rate rate;
  const auto give = [&](const std::string& added) {
    const std::size_t searched =
        result.text.size() - std::min(result.text.size(), options.stop.size());
    result.text += added;
    if (!added.empty() && take && !take(added)) result.stopped = true;
    const bool found =
        !options.stop.empty() && result.text.find(options.stop, searched) != std::string::npos;
    result.stopped |= found;
    return !result.stopped;
  };
  result.tokens =
      generate_tokens(model, before, options.length, options.sampling, [&](std::int32_t token) {
        rate.count();
        return give(stream.add(token));
      });
  give(stream.rest());
  result.tokens_per_second = rate.per_second();
  return result;
}

}  // namespace narrowgauge
