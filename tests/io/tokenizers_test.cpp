// SPDX-License-Identifier: Apache-2.0
// Tokenizers: those of published kinds against Hugging Face's, on what tokenizer_traces.py has
// written down; what decodes to the same text; what is refused.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "io/files.h"
#include "narrowgauge/error.h"
#include "narrowgauge/tokenizer.h"
#include "support/json.h"

namespace narrowgauge::tokenizers_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;
using testing_json::Json;
using Tokens = std::vector<std::int32_t>;
using TokenizerPointer = std::shared_ptr<const Tokenizer>;

const Json& traces() {
  static const Json all = Json::parse(read_file(std::string(std::getenv("NARROWGAUGE_SOURCE")) +
                                                "/tests/io/tokenizer_traces.json"));
  return all;
}

TokenizerPointer wordpiece(const char* name) {
  const TemporaryFolder folder;
  std::string lines;
  for (const auto& token : traces().at(name).at("vocabulary"))
    lines += token.get<std::string>() + '\n';
  write_file(folder / "vocab.txt", lines);
  return make_tokenizer({.kind = "wordpiece",
                         .vocabulary = folder / "vocab.txt",
                         .cased = std::string(name) == "cased"},
                        "");
}

TokenizerPointer bpe() {
  const TemporaryFolder folder;
  write_file(folder / "vocab.json", traces().at("bpe").at("vocabulary"));
  write_file(folder / "merges.txt", traces().at("bpe").at("merges"));
  return make_tokenizer(
      {.kind = "bpe", .vocabulary = folder / "vocab.json", .merges = folder / "merges.txt"}, "");
}

TokenizerPointer of_text(const char* kind, std::string_view text) {
  return make_tokenizer({.kind = kind}, text);
}

void expect_traces(const Tokenizer& tokenizer, const char* name) {
  for (const auto& each : traces().at(name).at("texts"))
    EXPECT_EQ(tokenizer.encode(each[0].get<std::string>()), each[1].get<Tokens>()) << each[0];
}

TEST(tokenizers, wordpiece_gives_the_tokens_of_bert) {
  for (const char* name : {"uncased", "cased"}) expect_traces(*wordpiece(name), name);
}

TEST(tokenizers, bpe_gives_the_tokens_of_gpt2) { expect_traces(*bpe(), "bpe"); }

TEST(tokenizers, are_the_same_after_they_were_saved) {
  const std::string text = "To be, or not to be: that's \xc3\xa9t\xc3\xa9 \xe4\xb8\xad.\n";
  for (const TokenizerPointer& each :
       {of_text("character", text), of_text("bytes", text), of_text("word", text),
        wordpiece("uncased"), wordpiece("cased"), bpe()}) {
    const TokenizerPointer read = tokenizer_of_json(each->json(), "saved");
    EXPECT_EQ(read->kind(), each->kind());
    EXPECT_EQ(read->size(), each->size());
    EXPECT_EQ(read->unknown(), each->unknown());
    EXPECT_EQ(read->is_lossless(), each->is_lossless());
    EXPECT_EQ(read->encode(text), each->encode(text)) << each->kind();
    EXPECT_EQ(read->json(), each->json());
  }
}

// Bytes of all kinds, most of which are no UTF-8.
std::string random_bytes(std::uint64_t seed) {
  const RandomStream random(seed, "tokenizers test");
  std::string text;
  for (std::uint64_t i = 0; i < random.bits(0) % 200; ++i)
    text += i % 3 == 0 ? " aZ'9"[random.bits(i + 1) % 5] : static_cast<char>(random.bits(i + 1));
  return text;
}

TEST(tokenizers, that_keep_bytes_give_back_any_text) {
  const TokenizerPointer bytes = of_text("bytes", ""), pairs = bpe();
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::string text = random_bytes(seed);
    for (const TokenizerPointer& each : {bytes, pairs})
      EXPECT_EQ(each->decode(each->encode(text)), text) << each->kind() << ' ' << seed;
  }
}

TEST(tokenizers, of_characters_give_back_what_they_know) {
  const std::string text = "na\xc3\xafve \xf0\x9f\x98\x80\n\xe4\xb8\xad";
  const TokenizerPointer characters = of_text("character", text);
  EXPECT_EQ(characters->size(), 1 + 9);
  EXPECT_EQ(characters->encode(text).size(), 9u);
  EXPECT_EQ(characters->decode(characters->encode(text)), text);
  EXPECT_EQ(characters->encode("nx\xff"), (Tokens{characters->encode("n")[0], 0, 0}));
  EXPECT_EQ(characters->decode(Tokens{0}), "\xef\xbf\xbd");
}

TEST(tokenizers, of_words_number_the_frequent_ones) {
  const std::string text = "the cat, the dog, the cat don't (see) b_1\n";
  const TokenizerPointer words = of_text("word", text);
  EXPECT_EQ(words->encode("the cat"), (Tokens{1, 3}));  // behind "the", ",", of equals the first
  EXPECT_EQ(words->encode("bird"), Tokens{0});
  EXPECT_EQ(words->decode(words->encode("the dog,\n(the cat) don't see b_1")),
            "the dog,\n(the cat) don't see b_1");
  EXPECT_EQ(make_tokenizer({.kind = "word", .most = 3}, text)->size(), 3);
  EXPECT_EQ(make_tokenizer({.kind = "word", .least_count = 2}, text)->size(), 4);
}

TEST(tokenizers, take_long_texts_without_blanks) {
  const std::string text(200'000, 'a');
  EXPECT_EQ(bpe()->decode(bpe()->encode(text)), text);
  EXPECT_EQ(wordpiece("uncased")->encode(text).size(), 1u);
  EXPECT_EQ(of_text("word", text)->encode(text).size(), 1u);
}

TEST(tokenizers, refuse_numbers_that_are_no_tokens) {
  for (const TokenizerPointer& each : {of_text("character", "ab"), of_text("bytes", ""),
                                       of_text("word", "a"), wordpiece("cased"), bpe()})
    for (const std::int64_t token : {std::int64_t{-1}, each->size()})
      EXPECT_THROW(each->decode(Tokens{static_cast<std::int32_t>(token)}), UsageError);
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

void expect_refusal(const std::function<void()>& call, const std::string& part) {
  EXPECT_NE(refusal(call).find(part), std::string::npos) << refusal(call) << " lacks " << part;
}

TEST(tokenizers, refuse_options_of_other_kinds) {
  const auto make = [](TokenizerOptions options) {
    return [options] { make_tokenizer(options, "text"); };
  };
  expect_refusal(make({.kind = "wrod"}), "did you mean word?");
  expect_refusal(make({.kind = "bytes", .most = 5}), "bytes: takes no most");
  expect_refusal(make({.kind = "word", .most = 1}), "at least 2 tokens");
  expect_refusal(make({.kind = "word", .vocabulary = "x"}), "word: takes no vocabulary");
  expect_refusal(make({.kind = "bpe", .vocabulary = "x"}), "bpe: needs a file of merges");
  expect_refusal(make({.kind = "wordpiece"}), "wordpiece: needs a file of vocabulary");
  expect_refusal(make({.kind = "wordpiece", .vocabulary = "/no/file"}), "/no/file");
}

void expect_vocabulary_refusal(const std::string& content, const std::string& part) {
  const TemporaryFolder folder;
  const std::string path = folder / "vocab.txt";
  write_file(path, content);
  expect_refusal([&] { make_tokenizer({.kind = "wordpiece", .vocabulary = path}, ""); }, part);
}

TEST(tokenizers, refuse_damaged_vocabularies_naming_the_line) {
  expect_vocabulary_refusal("", "expected tokens, found none");
  expect_vocabulary_refusal("[UNK]\na\nb\na\n", "token 4, 'a', is the same as token 2");
  expect_vocabulary_refusal("[UNK]\n\nb\n", "line 2: expected a token, found an empty line");
  expect_vocabulary_refusal(std::string("[UNK]\na\0b\n", 10), "line 2: holds a NUL byte");
  expect_vocabulary_refusal("[UNK]\n\xff\n", "line 2: is no UTF-8");
  expect_vocabulary_refusal("[UNK]\n" + std::string(5000, 'x'), "at most 4096 bytes, found 5000");
  expect_vocabulary_refusal("a\nb\n", "expected [UNK] among its tokens");
}

void expect_bpe_refusal(const std::string& vocabulary, const std::string& merges,
                        const std::string& part) {
  const TemporaryFolder folder;
  write_file(folder / "v", vocabulary);
  write_file(folder / "m", merges);
  expect_refusal(
      [&] {
        make_tokenizer({.kind = "bpe", .vocabulary = folder / "v", .merges = folder / "m"}, "");
      },
      part);
}

TEST(tokenizers, refuse_damaged_files_of_bpe) {
  const std::string good = traces().at("bpe").at("vocabulary");
  expect_bpe_refusal("", "", "expected JSON");
  expect_bpe_refusal("[1, 2]", "", "expected an object");
  expect_bpe_refusal(R"({"a": 0, "b": 5})", "", "'b': expected a number from 0 to 1");
  expect_bpe_refusal(R"({"a": 0, "b": -1})", "", "'b': expected a number from 0 to 1");
  expect_bpe_refusal(R"({"a": 0, "b": 0.5})", "", "'b': expected a number from 0 to 1");
  expect_bpe_refusal(R"({"a": 0, "b": 0})", "", "'a' and 'b' have the same number 0");
  expect_bpe_refusal(R"({"a": {"b": [1]}})", "", "found more inside");
  expect_bpe_refusal(R"({"a": 0})", "", "expected a token for each byte, byte 0");
  expect_bpe_refusal(good, "a b c\n", "merge 1: expected two tokens");
  expect_bpe_refusal(good, "#version: 0.2\nq z\n", "merge 1, 'q z': 'qz' is not in the vocabulary");
}

TEST(tokenizers, refuse_damaged_json) {
  const auto read = [](const char* text) { return [text] { tokenizer_of_json(text, "t.json"); }; };
  expect_refusal(read("{"), "t.json: is damaged");
  expect_refusal(read(R"({"version": 2, "kind": "bytes"})"), "is of version 2");
  expect_refusal(read(R"({"version": 1, "kind": "morse"})"), "expected one of");
  expect_refusal(read(R"({"version": 1, "kind": "word"})"), "expected <unk> as the first token");
  expect_refusal(read(R"({"version": 1, "kind": "character", "tokens": ["<unk>", "ab"]})"),
                 "expected tokens of one character");
  expect_refusal(read(R"({"version": 1, "kind": "character", "tokens": ["<unk>", "b", "a"]})"),
                 "in rising order");
  expect_refusal(read(R"({"version": 1, "kind": "bytes", "tokens": [[["a"]]]})"), "too deeply");
}

}  // namespace
}  // namespace narrowgauge::tokenizers_test
