// SPDX-License-Identifier: Apache-2.0
// Language models: what they begin with, that no logit depends on later tokens, and that they
// learn. tests/models_oracle.py compares them with GPT-2 and PyTorch's LSTM.
#include "narrowgauge/language_models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "base/random.h"
#include "narrowgauge/generate.h"
#include "narrowgauge/model.h"
#include "narrowgauge/text_data.h"

namespace narrowgauge::language_models_test {
namespace {

constexpr TextShape small_text{.sequence = 12, .vocabulary = 40};

// Networks by what they are; all small.
std::map<std::string, BuildNetwork> networks() {
  const TransformerSize size{.layers = 2, .width = 16, .heads = 2};
  TransformerSize rotary = size, untied = size;
  rotary.rotary = true;
  untied.tied = false;
  return {{"learned positions", tiny_transformer(size, small_text)},
          {"rotary positions", tiny_transformer(rotary, small_text)},
          {"untied", tiny_transformer(untied, small_text)},
          {"lstm", lstm_language_model({.layers = 2, .width = 16}, small_text)}};
}

Tensor random_tokens(std::int64_t rows, std::int64_t length, std::int64_t vocabulary,
                     std::uint64_t seed = 1) {
  Tensor tokens(DType::i64, {rows, length});
  const RandomStream random(seed, "tokens");
  std::uint64_t element = 0;
  for (std::int64_t& token : tokens.values<std::int64_t>())
    token = random.bits(element++) % vocabulary;
  return tokens;
}

TEST(language_models, begin_as_if_all_tokens_were_equally_probable) {
  for (const char* name : {"tiny-transformer", "lstm"}) {
    const TextShape text{.sequence = 32, .vocabulary = 66};
    Model model(name, find_language_model(name, text));
    Trainer trainer(model, next_token_cross_entropy(), adamw(0.0));
    const std::vector<Tensor> batch{random_tokens(4, 32, 66), random_tokens(4, 32, 66, 2)};
    EXPECT_NEAR(trainer.step(batch).loss, std::log(66), 0.1) << name;
  }
}

TEST(language_models, no_logit_depends_on_later_tokens) {
  for (const auto& [name, build] : networks()) {
    Model model(name, build);
    const Tensor tokens = random_tokens(2, small_text.sequence, small_text.vocabulary);
    const Tensor before = model.predict(tokens);
    ASSERT_EQ(before.dims(), (Dims{2, small_text.sequence, small_text.vocabulary})) << name;
    for (const std::int64_t changed : {0, 5, 11}) {
      Tensor other = tokens.clone();
      std::int64_t& token = other.values<std::int64_t>()[static_cast<std::size_t>(changed)];
      token = (token + 1) % small_text.vocabulary;
      const Tensor after = model.predict(other);
      for (std::int64_t i = 0; i < before.size(); ++i) {
        const std::int64_t row = i / (small_text.sequence * small_text.vocabulary);
        const std::int64_t place = i / small_text.vocabulary % small_text.sequence;
        const bool is_before = row > 0 || place < changed;
        ASSERT_TRUE(!is_before || before.at(i) == after.at(i)) << name << ' ' << i;
      }
      const std::int64_t own = changed * small_text.vocabulary;
      EXPECT_NE(before.at(own), after.at(own)) << name;
    }
  }
}

TEST(language_models, have_the_names_that_they_are_published_with) {
  const auto names = [](const BuildNetwork& build) {
    const std::vector<std::string> all = Model("m", build).state_names();
    return std::set<std::string>(all.begin(), all.end());
  };
  EXPECT_EQ(
      names(tiny_transformer({.layers = 1, .width = 8, .heads = 2}, small_text)),
      (std::set<std::string>{
          "transformer.wte.weight", "transformer.wpe.weight", "transformer.h.0.ln_1.weight",
          "transformer.h.0.ln_1.bias", "transformer.h.0.attn.c_attn.weight",
          "transformer.h.0.attn.c_attn.bias", "transformer.h.0.attn.c_proj.weight",
          "transformer.h.0.attn.c_proj.bias", "transformer.h.0.ln_2.weight",
          "transformer.h.0.ln_2.bias", "transformer.h.0.mlp.c_fc.weight",
          "transformer.h.0.mlp.c_fc.bias", "transformer.h.0.mlp.c_proj.weight",
          "transformer.h.0.mlp.c_proj.bias", "transformer.ln_f.weight", "transformer.ln_f.bias"}));
  EXPECT_EQ(
      names(lstm_language_model({.layers = 1, .width = 8}, small_text)),
      (std::set<std::string>{"embedding.weight", "lstm.weight_ih_l0", "lstm.weight_hh_l0",
                             "lstm.bias_ih_l0", "lstm.bias_hh_l0", "head.weight", "head.bias"}));
  EXPECT_TRUE(names(networks().at("untied")).contains("lm_head.weight"));
  EXPECT_FALSE(names(networks().at("rotary positions")).contains("transformer.wpe.weight"));
}

TEST(language_models, refuse_sizes_that_make_no_sense) {
  EXPECT_THROW(tiny_transformer({.layers = 0}, small_text), UsageError);
  EXPECT_THROW(tiny_transformer({.width = 30, .heads = 4}, small_text), UsageError);
  EXPECT_THROW(tiny_transformer({.dropout = 1}, small_text), UsageError);
  EXPECT_THROW(tiny_transformer({}, {.sequence = 0}), UsageError);
  EXPECT_THROW(lstm_language_model({.width = 0}, small_text), UsageError);
  EXPECT_THROW(lstm_language_model({.dropout = -1}, small_text), UsageError);
  EXPECT_THROW(find_language_model("bert-base", small_text), ModelError);
  EXPECT_THROW(find_language_model("lstm", small_text, {.heads = 2}), UsageError);
  EXPECT_THROW(Model("m",
                     [](Network& net) {
                       return next_token_cross_entropy()(net, net.input("x", {net.batch(), 3}));
                     }),
               UsageError);
}

// The loss of an evaluation is the mean over all tokens, also where the last window is not full.
TEST(language_models, each_token_of_an_evaluation_counts_once) {
  const auto tokens = std::make_shared<TokenList>(small_text.vocabulary);
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < 31; ++i) all.push_back(i * 7 % 40);
  tokens->append(all);
  Model model("m", networks().at("learned positions"));
  Trainer trainer(model, next_token_cross_entropy(), adamw(0.01), {.metrics = {"perplexity"}});
  const auto source = std::make_shared<TextSource>(tokens, small_text.sequence, Windows::tiling);
  double sum = 0;
  for (std::int64_t target = 1; target < 31; ++target) {
    const std::int64_t begin = (target - 1) / small_text.sequence * small_text.sequence;
    Tensor window(DType::i64, {1, small_text.sequence});
    for (std::int64_t i = begin; i < target; ++i)
      window.values<std::int64_t>()[static_cast<std::size_t>(i - begin)] =
          all[static_cast<std::size_t>(i)];
    const Tensor logits = model.predict(window);
    double exponentials = 0;
    const std::int64_t row = (target - 1 - begin) * small_text.vocabulary;
    for (std::int64_t c = 0; c < small_text.vocabulary; ++c)
      exponentials += std::exp(logits.at(row + c));
    sum += std::log(exponentials) - logits.at(row + all[static_cast<std::size_t>(target)]);
  }
  for (const std::int64_t batch : {1, 2, 3, 256}) {
    const Evaluation result = trainer.evaluate(source, batch);
    EXPECT_NEAR(result.loss, sum / 30, 1e-6) << batch;
    EXPECT_NEAR(result.metrics.at(0).value, std::exp(sum / 30), 1e-4) << batch;
    EXPECT_GE(result.accuracy, 0);
    EXPECT_LE(result.accuracy, 1);
  }
}

TEST(language_models, learn_a_text_by_heart) {
  for (const auto& [name, build] : networks()) {
    const auto tokens = std::make_shared<TokenList>(small_text.vocabulary);
    for (int i = 0; i < 40; ++i) tokens->append(std::vector<std::int32_t>{3, 1, 4, 1, 5, 9, 2});
    Model model(name, build);
    Trainer trainer(model, next_token_cross_entropy(), adamw(0.02));
    const auto source =
        std::make_shared<TextSource>(tokens, small_text.sequence, Windows::moving, 1);
    trainer.fit(source, nullptr, {.epochs = 150, .batch = 8});
    const std::vector<std::int32_t> prompt{3, 1, 4, 1};
    EXPECT_EQ(generate_tokens(model, prompt, 6, {.temperature = 0}),
              (std::vector<std::int32_t>{5, 9, 2, 3, 1, 4}))
        << name;
  }
}

}  // namespace
}  // namespace narrowgauge::language_models_test
