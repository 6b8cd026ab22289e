// SPDX-License-Identifier: Apache-2.0
// `train` takes a network from a file of ONNX, keeps it in the run, and writes such a file.
#include "cli/training_fixture.h"
#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::testing_cli::train_onnx_test {
namespace {

class TrainOnnx : public Training {
 protected:
  static std::string file(const std::string& name) { return *folder_ / name; }
  // A network as a file, for the images of the tiny set.
  static std::string network() {
    const std::string path = file("network.onnx");
    const Result result =
        run({"export", "--model", "mlp", "--image", "1x8x8", "--classes", "4", "--onnx", path});
    EXPECT_EQ(result.code, 0) << result.err;
    return path;
  }
  static Words train_file(const std::string& path, const Words& more) {
    Words words{"train", path, "--data", data(), "--epochs", "2", "--batch", "32"};
    words.insert(words.end(), {"--json", "--quiet"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static void expect_refused(const Words& words, int code, const std::string& message) {
    const Result result = run(words);
    EXPECT_EQ(result.code, code) << result.out;
    EXPECT_TRUE(contains(result.err, message)) << result.err;
  }
};

TEST_F(TrainOnnx, keeps_the_network_in_the_run) {
  const std::string path = network(), folder = file("run");
  const Json trained = done(train_file(path, {"--output", folder}));
  EXPECT_GT(trained.at("test_accuracy"), 0.9);
  std::filesystem::remove(path);
  EXPECT_EQ(done({"evaluate", folder, "--json"}).at("test_accuracy"), trained.at("test_accuracy"));
  EXPECT_EQ(run({"predict", folder, "--count", "2", "--json"}).code, 0);
  EXPECT_EQ(run({"export", folder, "--onnx", file("again.onnx")}).code, 0);
}

TEST_F(TrainOnnx, over_an_older_run_leaves_that_whole_until_the_first_checkpoint) {
  const std::string folder = file("older"), other = file("other.onnx");
  const Json older = done(train_file(network(), {"--output", folder}));
  ASSERT_EQ(
      run({"export", "--model", "lenet", "--image", "1x8x8", "--classes", "4", "--onnx", other})
          .code,
      0);
  Words words{"train", other, "--data", data(), "--epochs", "1000", "--output", folder};
  words.insert(words.end(), {"--checkpoint-every", "9h"});
  ASSERT_EQ(run(words, {.interrupt_at = "epoch 1/", .interrupt_by = SIGKILL}).code, 128 + SIGKILL);
  EXPECT_EQ(done({"evaluate", folder, "--json"}).at("test_loss"), older.at("test_loss"));
  EXPECT_EQ(done({"train", "--resume", folder, "--epochs", "3", "--json"}).at("steps"), 8);
  const Json newer = done(train_file(other, {"--output", folder}));
  EXPECT_EQ(done({"evaluate", folder, "--json"}).at("test_loss"), newer.at("test_loss"));
  EXPECT_EQ(done({"train", "--resume", folder, "--epochs", "3", "--json"}).at("steps"), 8);
  int networks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    networks += entry.path().extension() == ".onnx";
  EXPECT_EQ(networks, 1) << "that of the older run is gone with its checkpoints";
  EXPECT_EQ(run({"evaluate", folder + ".1"}).code, 0);
  // Both runs have a copy of the network that the older one keeps.
  Words again = train_file(folder + ".1/network.onnx", {"--output", folder + ".1"});
  EXPECT_EQ(run(again).code, 0);
  EXPECT_EQ(run({"evaluate", folder + ".1"}).code, 0);
  EXPECT_EQ(run({"evaluate", folder + ".1.1"}).code, 0);
}

TEST_F(TrainOnnx, that_no_gradient_reaches_is_refused_with_code_3) {
  testing_support::SmallModel small(17);
  small.input("images", "f32[N,64]").initializer("w", Tensor(DType::f32, {64, 4}));
  small.initializer("v", Tensor(DType::f32, {64, 4})).node("MatMul", {"images", "w"}, {"p"});
  small.node("DynamicQuantizeLinear", {"p"}, {"q", "scale", "zero"});
  small.node("MatMul", {"images", "v"}, {"r"}).node("Mul", {"r", "scale"}, {"y"}).output("y");
  onnx::Model complete = small.model;
  complete.ir_version = 8;
  const std::string path = file("untrainable.onnx"), folder = file("refused");
  onnx::write_model(path, complete);
  const Result result = run(train_file(path, {"--output", folder}));
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_TRUE(contains(result.err,
                       "op DynamicQuantizeLinear has no gradient for parameter 'w'; "
                       "frozen, the others train\n"))
      << result.err;
  EXPECT_EQ(line_count(result.err), 1) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(run(train_file(path, {"--freeze", "w"})).code, 0);
}

TEST_F(TrainOnnx, goes_on_to_the_bits_of_an_undisturbed_run) {
  const std::string path = network();
  const Words four{"--epochs", "4", "--schedule", "constant", "--warmup", "0", "--output"};
  Words whole = four, part = four;
  whole.push_back(file("whole"));
  part.push_back(file("part"));
  part[1] = "2";
  const Json undisturbed = done(train_file(path, whole));
  done(train_file(path, part));
  const Json resumed = done({"train", "--resume", file("part"), "--epochs", "4", "--json"});
  EXPECT_EQ(resumed.at("weights_sha256"), undisturbed.at("weights_sha256"));
}

TEST_F(TrainOnnx, writes_what_it_trained) {
  const std::string path = network(), tuned = file("tuned.onnx"), folder = file("tuned");
  done(train_file(path, {"--onnx", tuned, "--output", folder, "--freeze", "*.bias"}));
  const std::string outputs = file("outputs.npz");
  EXPECT_EQ(run({"predict", folder, "--save", outputs, "--quiet"}).code, 0);
  const Result same = run({"info", tuned});
  EXPECT_EQ(same.code, 0) << same.err;
  // Trained further from the file, nothing is left to learn.
  EXPECT_LT(done(train_file(tuned, {"--epochs", "1", "--lr", "1e-6"})).at("first_loss"), 0.3);
}

TEST_F(TrainOnnx, fits_numbers_to_any_output) {
  Tensor x(DType::f32, {32, 1, 8, 8}), y(DType::f32, {32, 4});
  for (std::int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>(i % 13) / 13);
  for (std::int64_t i = 0; i < y.size(); ++i) y.set(i, static_cast<double>(i % 4) / 4);
  const std::string numbers = file("numbers.npz");
  write_npz(numbers,
            std::vector<NamedTensor>{{"x_train", x}, {"y_train", y}, {"x_test", x}, {"y_test", y}});
  const Json result = done(
      train_file(network(), {"--data", numbers, "--loss", "mean_squared_error", "--epochs", "50"}));
  EXPECT_LT(result.at("test_loss"), 0.01);
}

TEST_F(TrainOnnx, trains_in_f64_and_goes_on_so) {
  const std::string path = network(), folder = file("wide");
  const Json f64 = done(train_file(path, {"--math", "f64", "--output", folder, "--lr", "0.01"}));
  const Json f32 = done(train_file(path, {"--math", "ieee", "--lr", "0.01"}));
  EXPECT_EQ(f64.at("precision"), "f64");
  const double first = f64.at("first_loss"), near = f32.at("first_loss");
  EXPECT_NE(first, near);
  EXPECT_NEAR(first, near, 1e-6);
  EXPECT_NE(first, static_cast<double>(static_cast<float>(first)));  // not rounded on the way
  EXPECT_EQ(done({"evaluate", folder, "--json"}).at("test_accuracy"), f64.at("test_accuracy"));
  EXPECT_EQ(run({"export", folder, "--onnx", file("narrow.onnx")}).code, 0);
  EXPECT_EQ(run({"train", "--resume", folder, "--epochs", "3", "--quiet"}).code, 0);
  expect_refused(train_file(path, {"--math", "f64", "--amp", "bf16"}), 2, "nothing narrow");
  expect_refused(train_file(path, {"--math", "f63"}), 2, "--math: expected f32");
}

TEST_F(TrainOnnx, takes_settings_of_groups_of_parameters) {
  const std::string path = network();
  const Json frozen = done(train_file(path, {"--group", "*: rate=0"}));
  const Json slow = done(train_file(path, {"--group", "*.bias: rate=0.1, weight_decay=0.01"}));
  const Json clipped = done(train_file(path, {"--clip-value", "1e-6"}));
  const Json usual = done(train_file(path, {}));
  EXPECT_NEAR(frozen.at("final_loss"), frozen.at("first_loss"), 0.1);
  EXPECT_NEAR(clipped.at("final_loss"), clipped.at("first_loss"), 0.1);
  EXPECT_NE(slow.at("weights_sha256"), usual.at("weights_sha256"));
  expect_refused(train_file(path, {"--group", "*.bias"}), 2, "--group: expected PATTERN: rate=X");
  expect_refused(train_file(path, {"--group", ": rate=1"}), 2, "--group: expected PATTERN");
  expect_refused(train_file(path, {"--group", "*: rate=x"}), 2, "as rate, got \"x\"");
  expect_refused(train_file(path, {"--group", "*: decay=1"}), 2, "or frozen, got \"decay=1\"");
  expect_refused(train_file(path, {"--group", "q*: rate=1"}), 2, "is called 'q*'");
  expect_refused(train_file(path, {"--clip", "1", "--clip-value", "1"}), 2,
                 "one of them can be used");
  expect_refused(train_file(path, {"--clip-value", "-1"}), 2,
                 "--clip-value: expected a number from 0");
}

TEST_F(TrainOnnx, refuses_what_makes_no_sense) {
  const std::string path = network();
  expect_refused(train_file(file("none.onnx"), {}), 4, "none.onnx: No such file");
  expect_refused(train_file(path, {"--model", "mlp"}), 2, "--model is another");
  expect_refused(train_file(path, {"--loss", "l7"}), 2, "got 'l7'");
  expect_refused(train_file(path, {"--loss", "output:y"}), 2, "has no output 'y', only ");
  expect_refused(train_file(path, {"--loss-on", "y"}), 2, "has no output 'y', only ");
  expect_refused(train_file(path, {"--freeze", "a*"}), 2, "parameters is called 'a*'");
  expect_refused(train_file(path, {"--freeze", "*"}), 2, "none is left to train");
  expect_refused(train_file(path, {"--shape", "y=1x2"}), 2, "has no input 'y'");
  expect_refused(train_file(path, {"--mean", "0,x"}), 2, "--mean: expected");
  expect_refused({"train", "--model", "mlp", "--train-batch-norm"}, 2, "needs a file of ONNX");
  expect_refused(train_file(path, {"--data", "glyphs"}), 4,
                 "has 10 classes, the network gives 4 scores");
}

}  // namespace
}  // namespace narrowgauge::testing_cli::train_onnx_test
