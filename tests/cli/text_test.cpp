// SPDX-License-Identifier: Apache-2.0
// Language models as a user trains and uses them, on a text of a few thousand characters.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/json_answer.h"
#include "cli/training_fixture.h"

namespace narrowgauge::testing_cli::text_test {
namespace {

using testing_files::read_file;
using testing_files::write_file;

// Verses, one after another, that repeat themselves.
std::string tiny_text() {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "The mouse is in house " + std::to_string(i % 7) + ".\n";
    text += "It has " + std::to_string(i % 5 + 2) + " friends; they all like cheese!\n";
  }
  return text;
}

class Text : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_file(file(), tiny_text());
    done(train({"--output", run_folder(), "--epochs", "12"}));
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string file() { return *folder_ / "tiny.txt"; }
  static std::string run_folder() { return *folder_ / "run"; }

  static Words train(const Words& more) {
    Words words{"train",   "--model",  "tiny-transformer",
                "--data",  file(),     "--context",
                "16",      "--layers", "1",
                "--width", "16",       "--heads",
                "2",       "--batch",  "8",
                "--lr",    "0.01",     "--json",
                "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string generated(const Words& more, const Surroundings& surroundings = {}) {
    Words words{"generate", run_folder()};
    words.insert(words.end(), more.begin(), more.end());
    const Result result = run(words, surroundings);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(Text, training_reports_nats_and_no_images) {
  Words words = train({"--epochs", "2"});
  std::erase(words, "--json");
  std::erase(words, "--quiet");
  const Result result = run(words);
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* part : {"nats a token", "perplexity", "a character", "tokens/s"})
    EXPECT_TRUE(contains(result.out, part)) << result.out;
  EXPECT_TRUE(contains(result.err, "test loss")) << result.err;
  for (const std::string& text : {result.out, result.err})
    for (const char* part : {"image", "accuracy", "samples/s"})
      EXPECT_FALSE(contains(text, part)) << text;
}

TEST_F(Text, begins_near_chance_and_learns) {
  const Json result = done(train({"--epochs", "6"}));
  const auto characters = [] {
    std::string text = tiny_text();
    std::ranges::sort(text);
    return std::ranges::unique(text).begin() - text.begin();
  }();
  EXPECT_NEAR(result.at("first_loss"), std::log(static_cast<double>(characters) + 1), 0.2);
  EXPECT_LT(result.at("test_loss"), 2);
  const double loss = result.at("test_loss");
  EXPECT_NEAR(result.at("test_perplexity"), std::exp(loss), 1e-6 * std::exp(loss));
  EXPECT_NEAR(result.at("test_bits_per_character"), loss / std::log(2), 0.01);
  EXPECT_EQ(result.at("test_tokens"), std::ssize(tiny_text()) / 10 - 1);
}

TEST_F(Text, evaluate_measures_what_training_did_without_the_tokenizer_s_source) {
  const Json trained = done({"evaluate", run_folder(), "--json"});
  EXPECT_LT(trained.at("test_loss"), 1.5);
  const Result result = run({"evaluate", run_folder()});
  EXPECT_TRUE(contains(result.out, "nats a token")) << result.out;
  EXPECT_FALSE(contains(result.out, "images")) << result.out;
  write_file(*folder_ / "other.txt",
             "It has 3 friends; they all like cheese!\nxyz\n" + tiny_text());
  const Json other =
      done({"evaluate", run_folder(), "--data", *folder_ / "other.txt", "--json", "--batch", "3"});
  EXPECT_NEAR(other.at("test_loss").get<double>(), trained.at("test_loss").get<double>(), 0.2);
}

TEST_F(Text, generates_the_same_text_for_the_same_seed) {
  const Words some{"--prompt", "The mouse", "--length", "60", "--seed", "3"};
  const std::string text = generated(some);
  EXPECT_TRUE(text.starts_with("The mouse")) << text;
  EXPECT_EQ(text.size(), 9u + 60 + 1);
  EXPECT_EQ(generated(some), text);
  EXPECT_NE(generated({"--prompt", "The mouse", "--length", "60", "--seed", "4"}), text);
  EXPECT_EQ(run({"generate", run_folder()}).err, "");
  Words with_json = some;
  with_json.emplace_back("--json");
  const Json answer = Json::parse(generated(with_json));
  EXPECT_EQ("The mouse" + answer.at("text").get<std::string>() + "\n", text);
  EXPECT_EQ(answer.at("tokens"), 60);
}

TEST_F(Text, generating_ends_when_its_output_cannot_be_written) {
  const Result full =
      run({"generate", run_folder(), "--length", "2000000000"}, {.stdout_to = "/dev/full"});
  EXPECT_EQ(full.code, 4);
  EXPECT_TRUE(contains(full.err, "cannot write")) << full.err;
}

TEST_F(Text, generates_what_it_has_learnt) {
  const std::string most =
      generated({"--prompt", "The mou", "--length", "10", "--temperature", "0"});
  EXPECT_TRUE(most.starts_with("The mouse is in")) << most;
  EXPECT_EQ(generated({"--prompt", "The mou", "--length", "10", "--top-k", "1"}), most);
  EXPECT_EQ(generated({"--prompt", "The mou", "--length", "10", "--top-p", "0.0001"}), most);
  const std::string ended =
      generated({"--prompt", "The", "--length", "400", "--temperature", "0", "--stop", "house"});
  EXPECT_TRUE(ended.ends_with("house\n")) << ended;
  for (const char* amp : {"off", "bf16", "f16"})
    EXPECT_EQ(
        generated({"--prompt", "The mou", "--length", "3", "--temperature", "0", "--amp", amp}),
        "The mouse \n");
}

TEST_F(Text, generate_needs_no_file_but_the_run) {
  const std::string moved = *folder_ / "moved";
  std::filesystem::copy(
      run_folder(), moved,
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  std::filesystem::rename(file(), *folder_ / "gone.txt");
  const Result result = run({"generate", moved, "--length", "5"});
  std::filesystem::rename(*folder_ / "gone.txt", file());
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(Text, a_prompt_with_unknown_characters_is_told) {
  const Result result =
      run({"generate", run_folder(), "--prompt", "\xe4\xb8\xad", "--length", "1"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.err, "1 of its 1 tokens are not in the vocabulary")) << result.err;
}

TEST_F(Text, resumes_as_if_never_stopped) {
  const std::string parts = *folder_ / "parts";
  const Json expected = done(train({"--deterministic", "--epochs", "4", "--dropout", "0.1"}));
  Words first = train({"--deterministic", "--epochs", "4", "--dropout", "0.1", "--output", parts,
                       "--checkpoint-every", "10"});
  std::erase(first, "--json");
  std::erase(first, "--quiet");
  ASSERT_EQ(run(first, {.interrupt_at = "saved"}).code, 130);
  const Json resumed = done({"train", "--resume", parts, "--json", "--quiet"});
  EXPECT_GT(resumed.at("steps"), 0);
  EXPECT_EQ(resumed.at("weights_sha256"), expected.at("weights_sha256"));
}

TEST_F(Text, trains_in_every_format_and_in_parts) {
  const Json base = done(train({"--epochs", "4"}));
  for (const Words& more : {Words{"--amp", "bf16"}, Words{"--amp", "f16"},
                            Words{"--accumulate", "4"}, Words{"--math", "f64"}}) {
    Words words = train({"--epochs", "4"});
    words.insert(words.end(), more.begin(), more.end());
    const Json result = done(words);
    EXPECT_NEAR(result.at("test_loss").get<double>(), base.at("test_loss").get<double>(), 0.05)
        << more.back();
  }
}

TEST_F(Text, is_compared_by_its_loss) {
  Words words = train({"--epochs", "2", "--compare", "off,bf16"});
  const Json result = done(words);
  EXPECT_LT(result.at("largest_difference_nats"), 0.1);
  EXPECT_TRUE(contains(result.at("remarks").dump(), "nats a token from")) << result;
  std::erase(words, "--json");
  const Result table = run(words);
  EXPECT_TRUE(contains(table.out, "test loss")) << table.out;
  EXPECT_FALSE(contains(table.out, "accuracy")) << table.out;
  words.insert(words.end(), {"--tolerance", "0"});
  const Result refused = run(words);
  EXPECT_EQ(refused.code, 7) << refused.err;
  EXPECT_TRUE(contains(refused.err, "nats a token, more than the 0")) << refused.err;
}

TEST_F(Text, an_lstm_learns_too) {
  const Json result =
      done({"train", "--model", "lstm", "--data", file(), "--context", "16", "--layers", "1",
            "--width", "24", "--batch", "8", "--lr", "0.01", "--epochs", "6", "--json", "--quiet"});
  EXPECT_LT(result.at("test_loss"), 2);
}

TEST_F(Text, is_read_in_tokens_of_every_kind) {
  const std::string vocabulary = *folder_ / "vocab.txt";
  std::string lines = "[UNK]\n";
  for (int byte = 33; byte < 127; ++byte)
    for (const char* inner : {"", "##"})
      lines += inner + std::string(1, static_cast<char>(byte)) + '\n';
  write_file(vocabulary, lines + "mouse\ncheese\nfriends\n");
  for (const Words& kind :
       {Words{"--tokens", "bytes"}, Words{"--tokens", "word"},
        Words{"--tokens", "word", "--vocabulary", "12", "--least-count", "2"},
        Words{"--tokens", "wordpiece", "--vocabulary", vocabulary},
        Words{"--tokens", "wordpiece", "--vocabulary", vocabulary, "--cased"}}) {
    const std::string output = *folder_ / ("run_of_" + kind[1]);
    Words words = train({"--epochs", "3", "--output", output});
    words.insert(words.end(), kind.begin(), kind.end());
    const Json trained = done(words);
    EXPECT_TRUE(std::isfinite(trained.at("test_loss").get<double>()));
    EXPECT_EQ(trained.contains("test_bits_per_character"), kind[1] == "bytes");
    EXPECT_EQ(run({"generate", output, "--prompt", "It has", "--length", "20"}).code, 0);
    const Json measured = done({"evaluate", output, "--json"});
    EXPECT_NEAR(measured.at("test_loss"), trained.at("test_loss"), 1e-6);
    std::filesystem::remove_all(output);
  }
}

TEST_F(Text, settings_are_told_by_dump_config) {
  Words words = train({"--tokens", "bytes", "--dump-config"});
  const Result result = run(words);
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* part : {"tokens = \"bytes\"", "context = 16", "optimizer = \"adamw\""})
    EXPECT_TRUE(contains(result.out, part)) << result.out;
}

struct Refused {
  const char* name;
  Words words;
  int code;
  const char* message;
};

Words on_text(const Words& more) {
  Words words{"train", "--model", "tiny-transformer"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class RefusedText : public testing::TestWithParam<Refused> {};

TEST_P(RefusedText, ends_in_one_line_and_the_right_code) {
  const TemporaryFolder folder;
  write_file(folder / "good.txt", tiny_text());
  write_file(folder / "empty.txt", "");
  write_file(folder / "short.txt", "only a few characters");
  write_file(folder / "zero.txt", std::string("some text\0with a zero", 21));
  write_file(folder / "v.txt", "[UNK]\na\na\n");
  Words words = GetParam().words;
  for (std::string& word : words)
    if (word.starts_with("@")) word = folder / word.substr(1);
  const Result result = run(words);
  EXPECT_EQ(result.code, GetParam().code) << result.err;
  EXPECT_EQ(line_count(result.err), 1) << result.err;
  EXPECT_TRUE(contains(result.err, GetParam().message)) << result.err;
  EXPECT_EQ(result.out, "");
}

const Words good{"--data", "@good.txt"};
Words with_good(const Words& more) {
  Words words = on_text(good);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedText,
    testing::Values(
        Refused{"NoText", on_text({}), 4, "--data: tiny-transformer reads text"},
        Refused{"NoFile", on_text({"--data", "@none.txt"}), 4, "none.txt"},
        Refused{"Empty", on_text({"--data", "@empty.txt"}), 4, "found an empty file"},
        Refused{"Short", on_text({"--data", "@short.txt"}), 4, "at least 129 tokens"},
        Refused{"Zero", on_text({"--data", "@zero.txt"}), 4, "byte 9 is 0"},
        Refused{"Tokens", with_good({"--tokens", "wrd"}), 2, "--tokens: expected"},
        Refused{"VocabularyOfBytes", with_good({"--tokens", "bytes", "--vocabulary", "5"}), 2,
                "--vocabulary: needs --tokens word"},
        Refused{"WordsOfFile", with_good({"--tokens", "word", "--vocabulary", "v.txt"}), 2,
                "--vocabulary: expected a number of words from 2 on"},
        Refused{"OneWord", with_good({"--tokens", "word", "--vocabulary", "1"}), 2,
                "--vocabulary: expected a number of words from 2 on"},
        Refused{"NoVocabulary", with_good({"--tokens", "wordpiece"}), 2,
                "--tokens wordpiece: needs its file as --vocabulary"},
        Refused{"NoMerges", with_good({"--tokens", "bpe", "--vocabulary", "@v.txt"}), 2,
                "--tokens bpe: needs its file as --merges"},
        Refused{"MergesOfWords", with_good({"--merges", "@v.txt"}), 2,
                "--merges: needs --tokens bpe"},
        Refused{"LeastCount", with_good({"--least-count", "2"}), 2,
                "--least-count: needs --tokens word"},
        Refused{"Cased", with_good({"--cased"}), 2, "--cased: needs --tokens wordpiece"},
        Refused{"Duplicate", with_good({"--tokens", "wordpiece", "--vocabulary", "@v.txt"}), 4,
                "token 3, 'a', is the same as token 2"},
        Refused{"Context", with_good({"--context", "0"}), 2, "--context: expected a whole number"},
        Refused{"LongContext", with_good({"--context", "100000"}), 4, "at least 100001 tokens"},
        Refused{"HugeContext", with_good({"--context", "9000000"}), 2, "--context: expected 1 to"},
        Refused{"Layers", with_good({"--layers", "0"}), 2, "--layers: expected a whole number"},
        Refused{"Width", with_good({"--width", "30"}), 2, "4 heads do not divide a width of 30"},
        Refused{"Heads", with_good({"--heads", "x"}), 2, "--heads: expected a whole number"},
        Refused{
            "HeadsOfLstm",
            {"train", "--model", "lstm", "--data", "@good.txt", "--heads", "2", "--context", "16"},
            2,
            "lstm: has no attention"},
        Refused{"Dropout", with_good({"--dropout", "1"}), 2, "--dropout: expected a number"},
        Refused{"OfImages",
                {"train", "--model", "lenet", "--tokens", "bytes"},
                2,
                "--tokens: needs a language model"},
        Refused{"NoRun", {"generate"}, 2, "RUN"},
        Refused{"NoSuchRun", {"generate", "@none"}, 4, "none"},
        Refused{"Length", {"generate", "@run", "--length", "-1"}, 2, "--length: expected a whole"},
        Refused{"Temperature", {"generate", "@run", "--temperature", "-1"}, 2, "--temperature"},
        Refused{"TopK", {"generate", "@run", "--top-k", "1.5"}, 2, "--top-k: expected a whole"},
        Refused{"TopP", {"generate", "@run", "--top-p", "1.5"}, 2, "--top-p: expected a number"},
        Refused{"TopPZero", {"generate", "@run", "--top-p", "0"}, 2, "--top-p: expected a number"},
        Refused{"Seed", {"generate", "@run", "--seed", "-1"}, 2, "--seed"}),
    [](const auto& each) { return each.param.name; });

TEST_F(Text, a_run_that_goes_on_keeps_its_tokens) {
  const Result result = run({"train", "--resume", run_folder(), "--tokens", "bytes"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(contains(result.err, "--tokens: a run that goes on keeps its tokens")) << result.err;
}

TEST_F(Text, other_commands_refer_to_generate) {
  const Result result = run({"predict", run_folder()});
  EXPECT_EQ(result.code, 3);
  EXPECT_TRUE(contains(result.err, "`narrowgauge generate`")) << result.err;
}

TEST_F(Text, a_trained_network_is_exported) {
  const std::string file_of_onnx = *folder_ / "bard.onnx";
  const Result result = run({"export", run_folder(), "--onnx", file_of_onnx});
  EXPECT_EQ(result.code, 0) << result.err;
  const Json info = done({"info", file_of_onnx, "--json"});
  EXPECT_TRUE(contains(info.dump(), "tokens")) << info;
}

TEST_F(Text, damaged_tokenizers_are_refused) {
  const std::string damaged = *folder_ / "damaged";
  std::filesystem::copy(
      run_folder(), damaged,
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(damaged))
    if (entry.path().filename() == "tokenizer.json") write_file(entry.path(), "{}");
  const Result result = run({"generate", damaged});
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_EQ(line_count(result.err), 1) << result.err;
}

TEST_F(Text, invalid_utf8_is_told_once) {
  write_file(*folder_ / "bad.txt", "\xff\xfe" + tiny_text());
  Words words = train({"--epochs", "1"});
  words[4] = *folder_ / "bad.txt";
  const Result result = run(words);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "2 bytes are no UTF-8, the first is byte 0")) << result.err;
  EXPECT_EQ(line_count(result.err), 1) << result.err;
}

TEST(text_survey, counts_characters_words_and_lines_of_both_parts) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder / "small.txt";
  testing_files::write_file(
      path, std::string("na\xc3\xafve cat\n\xff") + std::string(80, 'a') + "\nb c\n");
  const Result result = run({"data", path, "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto found = testing_json::Json::parse(result.out);
  EXPECT_EQ(found.at("replaced_bytes"), 1);
  EXPECT_EQ(found.at("training").at("words"), 3);
  EXPECT_EQ(found.at("training").at("lines"), 1);
  EXPECT_EQ(found.at("training").at("distinct_characters"), 10);
  EXPECT_EQ(found.at("test").at("lines"), 2);
  EXPECT_NE(run({"data", path}).out.find("1 bytes are no UTF-8"), std::string::npos);
  EXPECT_EQ(run({"data", path, "--sheet", folder / "s.png"}).code, 2);
}

}  // namespace
}  // namespace narrowgauge::testing_cli::text_test
