// SPDX-License-Identifier: Apache-2.0
// Whatever is wrong with what the program is given, it says so in one line and by its exit code.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cli/program.h"
#include "cli/tiny_data.h"
#include "support/earlier_run.h"

namespace narrowgauge::testing_cli::bad_input_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;

struct BadFlag {
  const char* name;
  Words words;
  int code;
  const char* message;
};

void expect_failure(const Result& result, int code, const std::string& message) {
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_EQ(line_count(result.err), 1) << result.err;
  EXPECT_TRUE(result.err.starts_with("narrowgauge: error: ")) << result.err;
  EXPECT_TRUE(contains(result.err, message)) << result.err << "lacks: " << message;
}

class BadFlags : public testing::TestWithParam<BadFlag> {};

TEST_P(BadFlags, end_in_one_line_and_the_right_code) {
  const Result result = run(GetParam().words);
  expect_failure(result, GetParam().code, GetParam().message);
  EXPECT_EQ(result.out, "");
}

const Words on_lenet{"train", "--model", "lenet"};
Words lenet_with(const Words& more) {
  Words words = on_lenet;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadFlags,
    testing::Values(
        BadFlag{"NoCommand", {}, 2, "expected a command: train, evaluate"},
        BadFlag{"UnknownCommand", {"trian"}, 2, "unknown command trian"},
        BadFlag{"CommandSuggested", {"trian"}, 2, "did you mean train?"},
        BadFlag{"UnknownFlag", lenet_with({"--epoch", "3"}), 2, "unknown flag --epoch"},
        BadFlag{"FlagSuggested", lenet_with({"--epoch", "3"}), 2, "did you mean --epochs?"},
        BadFlag{"UnknownFlagBeforeCommand", {"--bogus", "train"}, 2, "unknown flag --bogus"},
        BadFlag{"ExtraArgument", lenet_with({"extra"}), 2,
                "extra is a network, --model is another"},
        BadFlag{"NoModel", {"train"}, 2, "--model, or a file of ONNX, is required"},
        BadFlag{"FlagWithoutValue", {"train", "--model"}, 2, "--model"},
        BadFlag{"NoRun", {"evaluate"}, 2, "RUN is required"},
        BadFlag{"UnknownModel", {"train", "--model", "lennet"}, 3, "unknown model lennet"},
        BadFlag{"ModelSuggested", {"info", "--model", "resnet2"}, 3, "did you mean resnet20?"},
        BadFlag{"UnknownModelExplained", {"explain", "--model", "vgg"}, 3, "unknown model vgg"},
        BadFlag{"UnknownDevice", lenet_with({"--device", "cuda"}), 6, "unknown device cuda"},
        BadFlag{"UnknownMath", lenet_with({"--math", "f16"}), 2, "--math: expected"},
        BadFlag{"UnknownUnit", lenet_with({"--math", "sim:k80"}), 2, "expected one of v100, t4"},
        BadFlag{"UnitWithoutTheFormat",
                {"explain", "--model", "lenet", "--amp", "bf16", "--math", "sim:v100"},
                2,
                "v100 multiplies no bf16, only f16, f32"},
        BadFlag{"PlanAndMath", lenet_with({"--plan", "p.txt", "--math", "ieee"}), 2, "--math"},
        BadFlag{"UnknownAmp", lenet_with({"--amp", "fp16"}), 2,
                "--amp: expected off, f16, bf16 or auto, got \"fp16\"; did you mean f16?"},
        BadFlag{"UnknownOptimizer", lenet_with({"--optimizer", "adamax"}), 2,
                "--optimizer: expected adagrad, adam, adamw"},
        BadFlag{"UnknownSchedule", lenet_with({"--schedule", "cos"}), 2, "did you mean cosine?"},
        BadFlag{"EpochsAreWords", lenet_with({"--epochs", "many"}), 2,
                "--epochs: expected a whole number from 1 on, got \"many\""},
        BadFlag{"EpochsAreZero", lenet_with({"--epochs", "0"}), 2, "--epochs"},
        BadFlag{"EpochsTooLarge", lenet_with({"--epochs", "99999999999999999999"}), 2, "--epochs"},
        BadFlag{"BatchIsNegative", lenet_with({"--batch", "-4"}), 2, "got \"-4\""},
        BadFlag{"RateIsNegative", lenet_with({"--lr", "-0.1"}), 2, "got \"-0.1\""},
        BadFlag{"RateIsNaN", lenet_with({"--lr", "nan"}), 2, "--lr: expected a number"},
        BadFlag{"RateWithTail", lenet_with({"--lr", "0.1x"}), 2, "got \"0.1x\""},
        BadFlag{"LossScaleIsAWord", lenet_with({"--loss-scale", "auto"}), 2, "auto"},
        BadFlag{"MomentumIsOne", lenet_with({"--momentum", "1"}), 2, "--momentum"},
        BadFlag{"MomentumOfAdam", lenet_with({"--optimizer", "adam", "--momentum", "0.9"}), 2,
                "adam has none, only "},
        BadFlag{"TooManyThreads", lenet_with({"--threads", "5000"}), 2, "0 to 4096"},
        BadFlag{"CompareUnknown", lenet_with({"--compare", "off,f8"}), 2, "got \"f8\""},
        BadFlag{"CompareIeeeByTwoNames", lenet_with({"--compare", "ieee,off", "--math", "ieee"}), 2,
                "off is ieee"},
        BadFlag{"CompareTwice", lenet_with({"--compare", "off,off"}), 2, "named twice"},
        BadFlag{"CompareAndAmp", lenet_with({"--compare", "off,f16", "--amp", "f16"}), 2, "--amp"},
        BadFlag{"ToleranceAlone", lenet_with({"--tolerance", "1"}), 2, "needs --compare"},
        BadFlag{"OverrideWithoutAmp", lenet_with({"--override", "conv1=f32"}), 2, "needs --amp"},
        BadFlag{"TraceUnknown", lenet_with({"--trace", "kernels"}), 2, "passes"},
        BadFlag{"MissingFolder", lenet_with({"--data", "/no/such/folder"}), 4, "/no/such/folder"},
        BadFlag{"MisspeltGlyphs", lenet_with({"--data", "glyph"}), 4, "did you mean glyphs?"},
        BadFlag{"MissingRun", {"evaluate", "/no/such/run"}, 4, "there is no such folder"},
        BadFlag{"MissingResume", {"train", "--resume", "/no/such/run"}, 4, "/no/such/run"},
        BadFlag{"MissingPlan", lenet_with({"--plan", "/no/plan.txt"}), 4, "/no/plan.txt"},
        BadFlag{"OutputUnderAFile", lenet_with({"--output", "/dev/null/run"}), 4, "/dev/null/run"},
        BadFlag{"ImageIsNoShape", {"info", "--model", "lenet", "--image", "28x28"}, 2, "3x32x32"},
        BadFlag{"ImageTooSmall", {"info", "--model", "lenet", "--image", "1x2x2"}, 3, "2x2"},
        BadFlag{"ImageTooSmallForDensenet",
                {"info", "--model", "densenet121", "--image", "3x28x28"},
                3,
                "29x29 is the least"},
        BadFlag{"ImageOfNoPatches",
                {"explain", "--model", "vit-small", "--image", "3x40x40"},
                3,
                "multiples of 16"},
        BadFlag{"ImageForBert",
                {"info", "--model", "bert-base", "--image", "3x32x32"},
                2,
                "takes tokens, not images"},
        BadFlag{"SequenceForLenet",
                {"info", "--model", "lenet", "--sequence", "8"},
                2,
                "takes images, not tokens"},
        BadFlag{"SequenceTooLong",
                {"info", "--model", "bert-base", "--sequence", "513"},
                2,
                "1 to 512 tokens, got 513"},
        BadFlag{"ClassesOfAnswers",
                {"info", "--model", "bert-base", "--head", "question-answering", "--classes", "3"},
                2,
                "it chooses tokens"},
        BadFlag{"BertOnImages",
                {"train", "--model", "bert-base", "--data", "glyphs"},
                2,
                "bert-base takes tokens, and the data sets here hold images"},
        BadFlag{"UnknownNode", {"explain", "--model", "lenet", "--node", "conv9"}, 2, "conv9"},
        BadFlag{"OpSuggested",
                {"explain", "--model", "lenet", "--override", "Transpse=f32"},
                2,
                "did you mean Transpose? `narrowgauge explain --all` lists nodes and ops"},
        BadFlag{"TargetWithoutKernels",
                {"explain", "--model", "lenet", "--target", "amx"},
                2,
                "--target: needs --kernels"},
        BadFlag{"TargetUnknown",
                {"explain", "--model", "lenet", "--kernels", "--target", "sse"},
                2,
                "--target"},
        BadFlag{"TargetMeasured",
                {"explain", "--model", "lenet", "--kernels", "--target", "amx", "--amp", "auto"},
                2,
                "name a format"},
        BadFlag{"OpsOfAModel",
                {"info", "--ops", "--model", "lenet"},
                2,
                "one of --model, --ops and a file"},
        BadFlag{"NodeSuggested",
                {"explain", "--model", "lenet", "--node", "hiden"},
                2,
                "did you mean hidden?"}),
    [](const auto& each) { return each.param.name; });

TEST(bad_environment, is_a_usage_error) {
  const Words words{"explain", "--model", "lenet"};
  expect_failure(run(words, {.variables = {{"NARROWGAUGE_AUTO_MIXED_PRECISION", "f17"}}}), 2,
                 "AUTO_MIXED_PRECISION");
  expect_failure(run(words, {.variables = {{"NARROWGAUGE_AMP", "f17"}}}), 2, "NARROWGAUGE_AMP");
  expect_failure(run({"doctor"}, {.variables = {{"NARROWGAUGE_ISA", "sse"}}}), 2,
                 "NARROWGAUGE_ISA");
}

// A folder of data, a trained run, and one thing that is wrong.
class BadFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_tiny_data(*folder_ / "data");
    const Result result = run(train({"--output", *folder_ / "run"}));
    ASSERT_EQ(result.code, 0) << result.err;
  }
  static void TearDownTestSuite() { delete folder_; }

  static Words train(const Words& more) {
    Words words{"train",    "--model", "mlp",     "--data", *folder_ / "data",
                "--epochs", "1",       "--batch", "32",     "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // A copy of the run or the data that a test may spoil.
  static std::string copy(const std::string& of) {
    static int count = 0;
    const std::string path = *folder_ / (of + std::to_string(++count));
    std::filesystem::copy(
        *folder_ / of, path,
        std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
    return path;
  }
  static void spoil(const std::string& path, const std::function<void(std::string&)>& change) {
    std::string content = read_file(path);
    change(content);
    write_file(path, content);
  }
  static Words train_on(const std::string& data) {
    return {"train", "--model", "mlp", "--data", data, "--epochs", "1", "--batch", "32"};
  }

  static TemporaryFolder* folder_;
};
TemporaryFolder* BadFiles::folder_ = nullptr;

TEST_F(BadFiles, batch_larger_than_the_data) {
  expect_failure(run(train({"--batch", "257"})), 2, "--batch: 257 is larger than the 256 images");
}

TEST_F(BadFiles, truncated_idx) {
  const std::string data = copy("data");
  spoil(data + "/train-images-idx3-ubyte", [](std::string& s) { s.resize(s.size() - 1); });
  expect_failure(run(train_on(data)), 4, "train-images-idx3-ubyte");
}

TEST_F(BadFiles, truncated_gzip) {
  const std::string data = copy("data");
  const std::string file = data + "/t10k-images-idx3-ubyte";
  const std::string packed = testing_files::gzip(read_file(file));
  std::filesystem::remove(file);
  write_file(file + ".gz", packed.substr(0, packed.size() / 2));
  expect_failure(run(train_on(data)), 4, "t10k-images-idx3-ubyte.gz");
}

TEST_F(BadFiles, label_count_differs) {
  const std::string data = copy("data");
  write_file(data + "/train-labels-idx1-ubyte", tiny_labels(tiny_train - 1));
  expect_failure(run(train_on(data)), 4, "expected 256 labels");
}

TEST_F(BadFiles, empty_folder) {
  TemporaryFolder empty;
  expect_failure(run(train_on(empty.path())), 4, "found a folder of other files");
}

TEST_F(BadFiles, corrupt_checkpoint) {
  for (const char* file : {"model.safetensors", "state.safetensors", "run.json", "plan.txt"}) {
    const std::string broken = copy("run");
    spoil(broken + "/latest/" + file, [](std::string& s) { s.back() ^= 1; });
    for (const Words& words :
         {Words{"train", "--resume", broken, "--epochs", "2"}, Words{"evaluate", broken}})
      expect_failure(run(words), 4, file);
  }
}

TEST_F(BadFiles, checkpoint_without_its_other_half) {
  const std::string broken = copy("run");
  std::filesystem::remove(broken + "/latest/state.safetensors");
  expect_failure(run({"train", "--resume", broken, "--epochs", "2"}), 4, "state.safetensors");
  expect_failure(run({"evaluate", broken}), 4, "no checkpoint is whole");
}

TEST_F(BadFiles, damaged_checkpoint_with_a_whole_one_before_it) {
  const std::string broken = copy("run");
  ASSERT_EQ(run({"train", "--resume", broken, "--epochs", "2"}).code, 0);
  spoil(broken + "/latest/state.safetensors", [](std::string& s) { s[s.size() / 2] ^= 1; });
  const Result result = run({"evaluate", broken});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "000002/state.safetensors: is damaged")) << result.err;
  EXPECT_TRUE(contains(result.err, "000001 is used")) << result.err;
  EXPECT_EQ(run({"train", "--resume", broken, "--epochs", "2"}).code, 0);
  EXPECT_EQ(run({"evaluate", broken}).err, "");
}

TEST_F(BadFiles, corrupt_checkpoint_of_the_earlier_form) {
  for (const char* file : {"/model.safetensors", "/state.safetensors"}) {
    const std::string broken = copy("run");
    make_earlier_form(broken);
    spoil(broken + file, [](std::string& s) { s.resize(s.size() / 2); });
    expect_failure(run({"train", "--resume", broken, "--epochs", "2"}), 4, file);
    expect_failure(run({"evaluate", broken}), 4, file);
  }
}

TEST_F(BadFiles, foreign_checkpoint) {
  expect_failure(run({"train", "--resume", *folder_ / "run", "--epochs", "2", "--model", "lenet"}),
                 4, "mlp");
  expect_failure(run({"train", "--resume", *folder_ / "run", "--epochs", "2", "--amp", "f16"}), 4,
                 "state.safetensors");
  expect_failure(
      run({"train", "--resume", *folder_ / "run", "--epochs", "2", "--optimizer", "adam"}), 4,
      "state.safetensors");
}

TEST_F(BadFiles, foreign_weights) {
  Words words = train({"--weights", *folder_ / "run/model.safetensors"});
  words[2] = "lenet";
  expect_failure(run(words), 4, "model.safetensors");
  expect_failure(run(train({"--weights", *folder_ / "run/run.json"})), 4, "run.json");
  expect_failure(run(train({"--weights", "/nope.safetensors"})), 4,
                 "/nope.safetensors: No such file or directory");
}

TEST_F(BadFiles, damaged_run_record) {
  const std::string broken = copy("run");
  make_earlier_form(broken);
  spoil(broken + "/run.json", [](std::string& s) { s.resize(s.size() / 2); });
  expect_failure(run({"evaluate", broken}), 4, "run.json: is damaged");
  write_file(broken + "/run.json", "{\"version\": 1}");
  expect_failure(run({"evaluate", broken}), 4, "run.json: is damaged");
  write_file(broken + "/run.json", "{\"version\": 99}");
  expect_failure(run({"evaluate", broken}), 4, "version 99");
  const std::string good = read_file(*folder_ / "run/run.json");
  for (const auto& [was, is] : {std::pair{"\"batch\": 32", "\"batch\": 0"},
                                {"\"amp\": \"off\"", "\"amp\": \"x\""},
                                {"\"epochs\": 1", "\"epochs\": -5"},
                                {"\"epochs\": 1", "\"epochs\": 1.9"},
                                {"\"threads\": ", "\"threads\": 4294967296"},
                                {"\"mean\": [", "\"mean\": [1e39,"},
                                {"\"deviation\": [", "\"deviation\": [0,"},
                                {"\"optimizer\": \"sgd\"", "\"optimizer\": \"x\""},
                                {"\"schedule\": \"cosine\"", "\"schedule\": \"x\""}}) {
    std::string text = good;
    ASSERT_NE(text.find(was), std::string::npos) << was << " in " << text;
    write_file(broken + "/run.json", text.replace(text.find(was), std::string(was).size(), is));
    expect_failure(run({"train", "--resume", broken, "--epochs", "2"}), 4, "run.json: is damaged");
  }
  std::filesystem::remove(broken + "/run.json");
  expect_failure(run({"evaluate", broken}), 4, "run.json");
}

TEST_F(BadFiles, evaluation_on_other_images) {
  const std::string other = write_tiny_data(*folder_ / "other", 10);
  expect_failure(run({"evaluate", *folder_ / "run", "--data", other}), 4, "1x10x10");
}

TEST_F(BadFiles, plans_that_do_not_fit) {
  const std::string plan = *folder_ / "plan.txt";
  ASSERT_EQ(run(train({"--amp", "f16", "--save-plan", plan})).code, 0);
  const std::string good = read_file(plan);
  const std::string bad = *folder_ / "bad.txt";
  const auto refused = [&](std::string text, const std::string& message) {
    write_file(bad, text);
    expect_failure(run(train({"--plan", bad})), 3, message);
  };
  refused("nonsense\n", "not a plan");
  refused(good + "conv9 Conv allow f16 math=f16 rule=seed-allow\n", "conv9");
  Words other = train({"--plan", plan});
  other[2] = "lenet";
  expect_failure(run(other), 3, "plan.txt");
  for (const Words& words : {train({"--plan", plan, "--amp", "bf16"}),
                             Words{"explain", "--model", "mlp", "--plan", plan, "--amp", "bf16"}})
    expect_failure(run(words), 2, "is for --amp f16");
  for (const Words& words :
       {train({"--plan", plan, "--override", "hidden1=f32"}),
        Words{"explain", "--model", "mlp", "--plan", plan, "--override", "hidden1=f32"}})
    expect_failure(run(words), 2, "--override cannot be added");
}

TEST_F(BadFiles, full_disk_while_saving) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer's own tables are files, and larger than the limit";
#endif
  const std::string output = *folder_ / "full";
  const Result result = run(train({"--output", output}), {.file_limit = 16384});
  expect_failure(result, 4, output);
  expect_failure(run({"evaluate", output}), 4, "holds no checkpoint");
  EXPECT_TRUE(std::filesystem::is_empty(output + "/checkpoints"));
}

TEST_F(BadFiles, full_disk_under_standard_output) {
  const Result result = run(train({}), {.stdout_to = "/dev/full"});
  expect_failure(result, 4, "standard output");
}

TEST_F(BadFiles, loss_that_is_not_a_number) {
  expect_failure(run(train({"--lr", "1e30", "--epochs", "20"})), 5, "loss");
  // Too short a run for several bad steps in a row: the test set tells.
  expect_failure(run(train({"--lr", "1e30", "--batch", "128"})), 5, "test loss");
  expect_failure(run(train({"--compare", "off,bf16", "--lr", "1e30", "--epochs", "20"})), 5,
                 "f32: ");
}

TEST_F(BadFiles, loss_scale_that_lets_no_step_through) {
  const std::string output = copy("run");
  const std::string before = read_file(output + "/model.safetensors");
  expect_failure(run(train({"--amp", "f16", "--loss-scale", "16777216", "--output", output})), 5,
                 "none of 8 steps");
  EXPECT_TRUE(read_file(output + "/model.safetensors") == before);
}

TEST_F(BadFiles, path_that_is_not_utf8) {
  const std::string data = write_tiny_data(*folder_ / "data\xff");
  expect_failure(run(train({"--data", data, "--output", *folder_ / "kept"})), 4, "UTF-8");
}

TEST_F(BadFiles, accuracies_further_apart_than_allowed) {
  // One step of training leaves an accuracy that depends on the format's rounding; a tolerance
  // below zero cannot be given, so the runs must differ for this.
  Words words = train({"--compare", "off,bf16", "--tolerance", "0", "--lr", "0.3"});
  const Result result = run(words);
  if (result.code == 0) GTEST_SKIP() << "the formats agree to the last image here";
  expect_failure(result, 7, "--tolerance");
}

}  // namespace
}  // namespace narrowgauge::testing_cli::bad_input_test
