// SPDX-License-Identifier: Apache-2.0
// Flags from files, and the settings in effect as such a file.
#include <sys/stat.h>

#include "cli/training_fixture.h"

namespace narrowgauge::testing_cli::config_test {
namespace {

using testing_files::write_file;

class Config : public Training {
 protected:
  // A file of its own for each text.
  static std::string file(const std::string& text) {
    static int count = 0;
    const std::string path = *folder_ / ("config_" + std::to_string(count++) + ".toml");
    write_file(path, text);
    return path;
  }
  static std::string small() {
    return "model = \"mlp\"\ndata = '" + data() + "'\nbatch = 32\nepochs = 1\nquiet = true\n";
  }
  static Words with_file(const std::string& text, const Words& more = {}) {
    Words words{"train", "--config", file(text), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string dump(Words words) {
    words.emplace_back("--dump-config");
    const Result result = run(words);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result.out;
  }
  static Json in_small(const std::string& more, const Words& words = {}) {
    return done(with_file(small() + more, words));
  }
};

void expect_error(const Result& result, int code, const std::string& message) {
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_EQ(line_count(result.err), 1) << result.err;
  EXPECT_TRUE(contains(result.err, message)) << result.err << "lacks: " << message;
  EXPECT_EQ(result.out, "");
}

TEST_F(Config, gives_the_run_that_its_flags_give) {
  const Json by_flags = done(quiet_json(
      {"--epochs", "1", "--amp", "bf16", "--optimizer", "adamw", "--lr", "0.002", "--group",
       "hidden1.*: rate=2, weight_decay=0", "--group", "hidden2.*: frozen", "--clip", "1.5"}));
  const Json by_file = in_small(
      "amp = \"bf16\"   # narrow\noptimizer = 'adamw'\nlr = 2e-3\nclip = 1.5\n"
      "group = [\n  \"hidden1.*: rate=2, weight_decay=0\",  # twice as fast\n  'hidden2.*: "
      "frozen',\n]\n");
  EXPECT_EQ(by_file.at("weights_sha256"), by_flags.at("weights_sha256"));
  EXPECT_NE(by_file.at("weights_sha256"), in_small("amp = 'bf16'").at("weights_sha256"));
}

TEST_F(Config, command_line_wins_wherever_it_stands) {
  const std::string path = file(small() + "seed = 7\nfreeze = ['hidden1.*', 'hidden2.*']\n");
  const Words plain{"--data", data(),   "--model", "mlp",    "--batch", "32",       "--epochs",
                    "1",      "--json", "--quiet", "--seed", "3",       "--freeze", "logits.*"};
  Words expected{"train"}, before{"train", "--seed", "3", "--freeze", "logits.*", "--json"};
  expected.insert(expected.end(), plain.begin(), plain.end());
  before.insert(before.end(), {"--config", path});
  const Json by_flags = done(expected);
  EXPECT_EQ(done(before).at("weights_sha256"), by_flags.at("weights_sha256"));
  EXPECT_EQ(done({"train", "--config", path, "--freeze", "logits.*", "--json", "--seed", "3"})
                .at("weights_sha256"),
            by_flags.at("weights_sha256"));
}

TEST(usual_settings, limit_the_gradients_of_networks_without_normalization) {
  const auto dumped = [](const Words& more) {
    Words words{"train", "--dump-config"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words).out;
  };
  for (const char* const model : {"mlp", "lenet"})
    EXPECT_NE(dumped({"--model", model}).find("\nclip = 2\n"), std::string::npos) << model;
  EXPECT_NE(dumped({"--model", "lstm", "--data", "x"}).find("\nclip = 1\n"), std::string::npos);
  EXPECT_NE(dumped({"--model", "resnet20"}).find("\nclip = 0\n"), std::string::npos);
  const std::string other = dumped({"--model", "lenet", "--clip-value", "2"});
  EXPECT_NE(other.find("\nclip = 0\nclip-value = 2\n"), std::string::npos) << other;
}

// The tiny set has 256 images to train on.
TEST_F(Config, states_the_batch_that_fits_the_data_which_the_run_keeps) {
  const std::string run_folder = *folder_ / "fitted";
  const Words plain{"train", "--model", "mlp", "--data", data(), "--epochs", "1"};
  EXPECT_TRUE(contains(dump(plain), "\nbatch = 8\n")) << dump(plain);
  Words kept = plain;
  kept.insert(kept.end(), {"--output", run_folder, "--json"});
  const Result result = run(kept);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "--batch: 8, as there are 256 images to train on"));
  const Json record = Json::parse(testing_files::read_file(run_folder + "/run.json"));
  EXPECT_EQ(record.at("settings").at("batch"), 8);
  EXPECT_EQ(Json::parse(last_line(result.out)).at("steps"), 32);
  const Words resumed{"train", "--resume", run_folder, "--epochs", "2"};
  EXPECT_TRUE(contains(dump(resumed), "\nbatch = 8\n")) << dump(resumed);
  Words more = resumed;
  more.emplace_back("--json");
  EXPECT_EQ(Json::parse(last_line(run(more).out)).at("steps"), 32);
  Words given = plain, elsewhere = plain;
  given.insert(given.end(), {"--batch", "128"});
  EXPECT_TRUE(contains(dump(given), "\nbatch = 128\n")) << dump(given);
  elsewhere[4] = *folder_ / "none";
  EXPECT_FALSE(contains(dump(elsewhere), "\nbatch = ")) << dump(elsewhere);
}

TEST_F(Config, switches_are_true_or_false) {
  const std::string text = small() + "optimizer = 'nadam'\n";
  EXPECT_TRUE(contains(dump(with_file(text + "keep-best = false\n")), "\nquiet = true\n"));
  EXPECT_FALSE(contains(dump(with_file(text, {"--quiet=false"})), "quiet = true"));
  const std::string sgd = small() + "momentum = 0.9\n";
  const Json on = done(with_file(sgd + "nesterov = true\n")),
             off = done(with_file(sgd + "nesterov = false\n")), plain = done(with_file(sgd)),
             against = done(with_file(sgd + "nesterov = true\n", {"--no-nesterov"}));
  EXPECT_NE(on.at("weights_sha256"), off.at("weights_sha256"));
  EXPECT_EQ(plain.at("weights_sha256"), off.at("weights_sha256"));
  EXPECT_EQ(against.at("weights_sha256"), off.at("weights_sha256"));
}

TEST_F(Config, sections_are_for_their_command) {
  const std::string output = *folder_ / "sections";
  const std::string path =
      file("threads = 1\n[train]\nthreads = 2\n" + small() + "output = '" + output +
           "'\n[evaluate]\nrun = '" + output + "'\nmetrics = ['f1', 'top5']\n");
  EXPECT_TRUE(contains(dump({"train", "--config", path}), "\nthreads = 2\n"));
  ASSERT_EQ(run({"train", "--config", path}).code, 0);
  const std::string evaluate = dump({"evaluate", "--config", path});
  EXPECT_TRUE(contains(evaluate, "\nthreads = 1\n")) << evaluate;
  EXPECT_TRUE(contains(run({"evaluate", "--config", path}).out, "test f1"));
}

TEST_F(Config, what_is_wrong_in_a_file_is_told_with_its_line) {
  const struct {
    const char *text, *message;
  } cases[] = {
      {"model = 'mlp'\nepoch = 3\n", ":2: unknown key epoch: train has no such flag; did you mean"},
      {"config = 'a.toml'\n", ":1: unknown key config"},
      {"[trian]\nepochs = 3\n", "[trian] is no command: expected train, evaluate"},
      {"[evaluate]\nepochs = 3\n", ":2: unknown key epochs: evaluate has no such flag"},
      {"epochs = \"3\"\n", ":1: epochs: expected a number, got the text 3"},
      {"epochs = true\n", ":1: epochs: expected a number, got true"},
      {"epochs = [3]\n", ":1: epochs: expected a number, got a list"},
      {"epochs = 0\n", ":1: --epochs: expected a whole number from 1 on, got \"0\""},
      {"\n\namp = 'fp16'\n", ":3: --amp: expected off, f16, bf16 or auto, got \"fp16\"; did you"},
      {"amp = false\n", ":1: amp: expected a text, got false"},
      {"quiet = 1\n", ":1: quiet: expected true or false, got the number 1"},
      {"quiet = 'yes'\n", ":1: quiet: expected true or false, got the text yes"},
      {"freeze = [true]\n", ":1: freeze: expected a text or a list of texts, got a list"},
      {"compare = ['off', 'f8']\n", ":1: --compare: expected"},
      {"seed = 1\nseed = 2\n", ":2: seed is set in line 1 already"},
      {"model = lenet\n", ":1: expected a text in \"quotes\", a number, true, false"},
      {"model = 'mlp\n", ":1: a text has no closing '"},
      {"model = \"m\\u0041\"\n", ":1: \\ can stand only between 'single quotes'"},
      {"model = 'mlp' 'b'\n", ":1: expected one value"},
      {"model = 'mlp', 'b'\n", ":1: expected one value"},
      {"epochs = 3 4\n", ":1: expected"},
      {"model = 'a' = 'b'\n", ":1: expected"},
      {"epochs = 3_\n", ":1: expected a text in"},
      {"epochs =\n", ":1: expected a text in \"quotes\", a number"},
      {"= 3\n", ":1: expected a setting such as epochs = 3, got =3"},
      {"a\n", ":1: expected a setting such as epochs = 3, got a"},
      {"epochs\n", ":1: expected a setting such as epochs = 3"},
      {"train.epochs = 3\n", ":1: expected a setting such as epochs = 3"},
      {"[train\n", ":1: a list has no closing ]"},
      {"[[train]]\n", ":1: expected [COMMAND]"},
      {"freeze = [\n'a',\n", ":1: a list has no closing ]"},
      {"freeze = ['a' 'b']\n", ":1: expected"},
      {"freeze = [['a']]\n", ":1: expected"},
      {"freeze = ['a']]\n", ":1: a ] closes no list"},
      {"group = {a = 1}\n", ":1: expected"},
      {"date = 2026-01-01\n", ":1: expected a text in \"quotes\""},
  };
  for (const auto& [text, message] : cases) {
    SCOPED_TRACE(text);
    const std::string path = file(text);
    const Result result = run({"train", "--config", path});
    expect_error(result, 2, message);
    EXPECT_TRUE(contains(result.err, "narrowgauge: error: " + path + ':')) << result.err;
  }
}

TEST_F(Config, bytes_that_are_no_text_are_refused) {
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 7919 >> 3);
  const Result result = run({"train", "--config", file(bytes)});
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_EQ(line_count(result.err), 1) << result.err;
}

TEST_F(Config, file_that_cannot_be_read_is_told) {
  const std::string pipe = *folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_error(run({"train", "--config", *folder_ / "none.toml"}), 4, "none.toml: No such file");
  expect_error(run({"train", "--config", data()}), 4, "expected a file, found a folder");
  expect_error(run({"train", "--config", pipe}), 4, "expected settings, found nothing");
  expect_error(run({"train", "--config", file("")}), 4, "expected settings, found nothing");
  expect_error(run({"train", "--config", ""}), 2, "--config: expected a value, got nothing");
}

TEST_F(Config, texts_are_taken_as_they_are) {
  const std::string folder = *folder_ / "odd # name, \\ [x] = ü";
  write_tiny_data(folder);
  EXPECT_EQ(in_small("").at("weights_sha256"),
            done(with_file("\tmodel = \"mlp\"\r\ndata='" + folder +
                           "'#comment\r\nbatch = 3_2\nepochs = +1\nquiet = true"))
                .at("weights_sha256"));
}

TEST_F(Config, dump_gives_the_same_run_and_the_same_dump) {
  const Words cases[] = {
      {},
      {"--amp", "bf16", "--weight-decay", "1e-3", "--master-weights", "off"},
      {"--optimizer", "adam", "--lr", "0.0017", "--ema-decay", "0.9", "--clip", "0.1"},
      {"--math", "f64", "--schedule", "linear", "--warmup", "3"},
      {"--amp", "f16"},
      {"--policy", "mixed_float16", "--warmup", "2"},
      {"--amp", "f16", "--override", "hidden1=f32", "--loss-scale", "512", "--mean", "0.25"},
      {"--opt-level", "O2", "--accumulate", "2", "--nesterov"},
      {"--policy", "float32", "--patience", "2", "--plateau", "0.5", "--watch", "accuracy"},
      {"--group", "hidden1.*: rate=2, weight_decay=0", "--freeze", "hidden2.*", "--decay-matrices"},
  };
  for (const Words& more : cases) {
    Words words = quiet_json(more);
    words.emplace_back("--deterministic");
    const std::string text = dump(words), path = file(text);
    SCOPED_TRACE(text);
    EXPECT_EQ(dump({"train", "--config", path}), text);
    EXPECT_EQ(done({"train", "--config", path}).at("weights_sha256"),
              done(words).at("weights_sha256"));
  }
}

TEST_F(Config, dump_has_what_the_network_and_the_environment_decide) {
  const Result result = run({"train", "--model", "resnet20", "--dump-config"},
                            {.variables = {{"NARROWGAUGE_AMP", "bf16"}}});
  for (const char* line :
       {"model = \"resnet20\"", "data = \"glyphs\"", "epochs = 12", "lr = 0.1",
        "weight-decay = 0.0001", "amp = \"bf16\"", "policy = \"lists\"", "optimizer = \"sgd\"",
        "seed = 1", "deterministic = false", "loss-scale = \"off\""})
    EXPECT_TRUE(contains(result.out, '\n' + std::string(line) + '\n')) << line << result.out;
  EXPECT_EQ(run({"train", "--model", "resnet20", "--epochs", "0", "--dump-config"}).code, 2);
  EXPECT_EQ(run({"train", "--dump-config"}).code, 2);
  expect_error(run({"train", "--model", "mlp", "--weights", "'\"", "--dump-config"}), 2,
               "a settings file cannot hold");
}

TEST_F(Config, resumed_run_goes_on_as_it_began) {
  const std::string from = *folder_ / "began", copy = *folder_ / "copy";
  done(quiet_json({"--amp", "bf16", "--epochs", "1", "--deterministic", "--output", from,
                   "--plateau", "0.5", "--keep-best"}));
  std::filesystem::copy(
      from, copy,
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
  const Words resume{"train", "--resume", from, "--epochs", "3", "--json", "--quiet"};
  Words of_copy = resume;
  of_copy[2] = copy;
  const std::string text = dump(of_copy);
  EXPECT_TRUE(contains(text, "plateau = 0.5\n")) << text;
  EXPECT_EQ(done({"train", "--config", file(text)}).at("weights_sha256"),
            done(resume).at("weights_sha256"))
      << text;
}

TEST_F(Config, dumps_of_the_other_commands_give_the_same) {
  const std::string folder = *folder_ / "others";
  done(quiet_json({"--amp", "bf16", "--output", folder}));
  const Words commands[] = {
      {"evaluate", folder, "--json", "--metrics", "f1"},
      {"predict", folder, "--json", "--count", "5"},
  };
  for (const Words& words : commands) {
    const std::string text = dump(words), path = file(text);
    SCOPED_TRACE(text);
    EXPECT_TRUE(contains(text, "\namp = \"bf16\"\n"));
    EXPECT_EQ(dump({words.front(), "--config", path}), text);
    EXPECT_EQ(run({words.front(), "--config", path}).out, run(words).out);
  }
  const std::string onnx = *folder_ / "mlp.onnx";
  ASSERT_EQ(run({"export", folder, "--onnx", onnx}).code, 0);
  const std::string text = dump({"run", onnx, "--random", "1x1x8x8", "--quiet"});
  EXPECT_TRUE(contains(text, "\nmath = \"f32\"\n")) << text;
  EXPECT_EQ(run({"run", "--config", file(text)}).code, 0);
  const std::string bench = dump({"bench", "--model", "lenet,mlp", "--batch", "4"});
  EXPECT_TRUE(contains(bench, "\nprecision = \"ieee,f32,bf16,f16\"\n")) << bench;
  EXPECT_EQ(dump({"bench", "--config", file(bench)}), bench);
}

}  // namespace
}  // namespace narrowgauge::testing_cli::config_test
