// SPDX-License-Identifier: Apache-2.0
// Sampling against exact probabilities, and how a text is continued.
#include "narrowgauge/generate.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "base/text/utf8.h"
#include "narrowgauge/error.h"
#include "narrowgauge/language_models.h"

namespace narrowgauge::generate_test {
namespace {

using Tokens = std::vector<std::int32_t>;

const std::vector<float> logits{0.5f, 2, -1, 2, 1, -3};

std::vector<double> softmax(double temperature) {
  std::vector<double> shares;
  double sum = 0;
  for (const float logit : logits) sum += shares.emplace_back(std::exp(logit / temperature));
  for (double& share : shares) share /= sum;
  return shares;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
}

std::vector<double> probabilities(const SamplingOptions& options) {
  return Sampler(options).probabilities(logits);
}

TEST(sampler, takes_the_softmax_at_a_temperature) {
  for (const double temperature : {0.5, 1.0, 2.0})
    expect_near(probabilities({.temperature = temperature}), softmax(temperature));
}

TEST(sampler, at_temperature_0_takes_the_first_of_the_most_probable) {
  expect_near(probabilities({.temperature = 0}), {0, 1, 0, 0, 0, 0});
  Sampler sampler({.temperature = 0, .top_k = 3, .top_p = 0.5});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(sampler.next(logits), 1);
}

TEST(sampler, top_k_leaves_the_most_probable) {
  const std::vector<double> all = softmax(1);
  const double three = all[1] + all[3] + all[4];
  expect_near(probabilities({.top_k = 3}),
              {0, all[1] / three, 0, all[3] / three, all[4] / three, 0});
  expect_near(probabilities({.top_k = 1}), {0, 1, 0, 0, 0, 0});
  expect_near(probabilities({.top_k = 6}), all);
  expect_near(probabilities({.top_k = 60}), all);
}

TEST(sampler, top_p_leaves_the_fewest_that_reach_a_share) {
  const std::vector<double> all = softmax(1);
  const double two = all[1] + all[3], three = two + all[4];
  expect_near(probabilities({.top_p = all[1] / 2}), {0, 1, 0, 0, 0, 0});
  expect_near(probabilities({.top_p = two - 1e-9}), {0, 0.5, 0, 0.5, 0, 0});
  expect_near(probabilities({.top_p = two + 1e-9}),
              {0, all[1] / three, 0, all[3] / three, all[4] / three, 0});
  expect_near(probabilities({.top_p = 1}), all);
  // A share of what top_k has left.
  expect_near(probabilities({.top_k = 3, .top_p = two / three - 1e-9}), {0, 0.5, 0, 0.5, 0, 0});
}

// Pearson's statistic of 20,000 draws from 6 tokens; 20.5 at 5 degrees of freedom has a chance of
// 0.001.
TEST(sampler, draws_tokens_as_often_as_their_probability_says) {
  for (const SamplingOptions& options :
       {SamplingOptions{.seed = 7}, SamplingOptions{.temperature = 0.7, .top_k = 4},
        SamplingOptions{.temperature = 1.5, .top_p = 0.9, .seed = 3}}) {
    Sampler sampler(options);
    const std::vector<double> shares = sampler.probabilities(logits);
    constexpr int draws = 20000;
    std::array<int, 6> counts{};
    for (int i = 0; i < draws; ++i) ++counts[static_cast<std::size_t>(sampler.next(logits))];
    double statistic = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const double expected = draws * shares[i];
      EXPECT_TRUE(expected > 0 || counts[i] == 0);
      if (expected > 0) statistic += std::pow(counts[i] - expected, 2) / expected;
    }
    EXPECT_LT(statistic, 20.5);
  }
}

TEST(sampler, draws_by_its_seed) {
  const auto draws = [](std::uint64_t seed) {
    Sampler sampler({.seed = seed});
    Tokens tokens;
    for (int i = 0; i < 50; ++i) tokens.push_back(sampler.next(logits));
    return tokens;
  };
  EXPECT_EQ(draws(1), draws(1));
  EXPECT_NE(draws(1), draws(2));
}

TEST(sampler, refuses_what_makes_no_sense) {
  EXPECT_THROW(Sampler({.temperature = -1}), UsageError);
  EXPECT_THROW(Sampler({.temperature = NAN}), UsageError);
  EXPECT_THROW(Sampler({.top_k = -1}), UsageError);
  EXPECT_THROW(Sampler({.top_p = 0}), UsageError);
  EXPECT_THROW(Sampler({.top_p = 1.1}), UsageError);
  EXPECT_THROW(Sampler({}).next({}), UsageError);
  for (const float bad : {NAN, INFINITY}) {
    const std::vector<float> some{0, bad};
    EXPECT_THROW(Sampler({}).next(some), DivergedError);
  }
}

constexpr std::int64_t context = 4, vocabulary = 256;

// After each token the next number is the most probable.
Value counts_on(Network& net) {
  const Shape shape{net.batch(), context};
  const Value tokens = net.input("tokens", shape, DType::i64);
  Tensor follows(DType::f32, {vocabulary, vocabulary});
  for (std::int64_t i = 0; i < vocabulary; ++i)
    follows.set(i * vocabulary + (i + 1) % vocabulary, 9);
  const Value table = net.graph().constant(follows);
  return net.op("Gather", {table, tokens}, "axis=0");
}

TEST(generate, continues_with_what_the_model_finds_probable) {
  Model model("next", counts_on);
  EXPECT_EQ(context_of(model), context);
  EXPECT_EQ(generate_tokens(model, Tokens{5}, 6, {.temperature = 0}), (Tokens{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(generate_tokens(model, Tokens{1, 2, 3, 4, 5, 6, 40}, 2, {.temperature = 0}),
            (Tokens{41, 42}));
  EXPECT_TRUE(generate_tokens(model, Tokens{1}, 0, {}).empty());
}

// What stands before the window does not count, however long the text has become.
TEST(generate, slides_its_window) {
  const TextShape text{.sequence = context, .vocabulary = 20};
  Model model("m", tiny_transformer({.layers = 1, .width = 8, .heads = 2}, text));
  const Tokens longer = generate_tokens(model, Tokens{1, 2, 3, 4, 5, 6}, 8, {.temperature = 0});
  EXPECT_EQ(generate_tokens(model, Tokens{3, 4, 5, 6}, 8, {.temperature = 0}), longer);
  Tokens window{3, 4, 5, 6};
  for (const std::int32_t token : longer) {
    EXPECT_EQ(generate_tokens(model, window, 1, {.temperature = 0}), Tokens{token});
    window.erase(window.begin());
    window.push_back(token);
  }
}

TEST(generate, stops_when_it_is_told_to) {
  Model model("next", counts_on);
  int taken = 0;
  EXPECT_EQ(
      generate_tokens(model, Tokens{5}, 100, {}, [&](std::int32_t) { return ++taken < 3; }).size(),
      3u);
}

TEST(generate, gives_out_text_as_it_comes) {
  Model model("next", counts_on);
  const auto bytes = make_tokenizer({.kind = "bytes"}, "");
  std::vector<std::string> parts;
  GenerateOptions options{.length = 5, .sampling = {.temperature = 0}};
  const Generation result = generate(model, *bytes, "a", options, [&](std::string_view text) {
    parts.emplace_back(text);
    return true;
  });
  EXPECT_EQ(result.text, "bcdef");
  EXPECT_EQ(parts, (std::vector<std::string>{"b", "c", "d", "e", "f"}));
  EXPECT_FALSE(result.stopped);
  options.length = 100;
  options.stop = "ef";
  const Generation ended = generate(model, *bytes, "a", options);
  EXPECT_EQ(ended.text, "bcdef");
  EXPECT_TRUE(ended.stopped);
  EXPECT_EQ(generate(model, *bytes, "", {.length = 1, .sampling = {.temperature = 0}}).tokens,
            Tokens{'\n' + 1});
}

// 0xc3 begins a character of two bytes, and no byte that follows it here continues one.
TEST(generate, gives_out_whole_characters_alone) {
  Model model("next", counts_on);
  const auto bytes = make_tokenizer({.kind = "bytes"}, "");
  std::string text;
  const Generation result =
      generate(model, *bytes, "\xbe", {.length = 50, .sampling = {.temperature = 0}},
               [&](std::string_view part) {
                 for (std::string_view rest = part; !rest.empty();) {
                   const Character next = first_character(rest);
                   EXPECT_GT(next.bytes, 0u);
                   rest.remove_prefix(std::max<std::size_t>(next.bytes, 1));
                 }
                 text += part;
                 return true;
               });
  EXPECT_EQ(text, result.text);
  EXPECT_EQ(result.tokens.size(), 50u);
}

TEST(generate, refuses_models_and_prompts_that_do_not_fit) {
  const auto bytes = make_tokenizer({.kind = "bytes"}, "");
  Model other("images", find_model("mlp", {1, 8, 8}, 4)), model("next", counts_on);
  EXPECT_THROW(generate(other, *bytes, "a"), UsageError);
  EXPECT_THROW(generate_tokens(model, Tokens{}, 1, {}), UsageError);
  EXPECT_THROW(generate_tokens(model, Tokens{256}, 1, {}), UsageError);
  try {
    generate_tokens(model, Tokens{256}, 1, {});
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "generate: expected tokens from 0 to 255, got 256");
  }
  EXPECT_THROW(generate_tokens(model, Tokens{-1}, 1, {}), UsageError);
  EXPECT_THROW(generate_tokens(model, Tokens{1}, -1, {}), UsageError);
  EXPECT_THROW(generate(model, *make_tokenizer({.kind = "word"}, "a b"), "a"), UsageError);
}

}  // namespace
}  // namespace narrowgauge::generate_test
