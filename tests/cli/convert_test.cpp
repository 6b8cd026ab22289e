// SPDX-License-Identifier: Apache-2.0
// `convert` writes an engine, tells what it costs, and refuses what it cannot do.
#include "cli/training_fixture.h"
#include "narrowgauge/engine.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::testing_cli {
namespace {

class Convert : public Training {
 protected:
  static void SetUpTestSuite() {
    Training::SetUpTestSuite();
    done(quiet_json({"--output", run_folder()}));
  }
  static std::string run_folder() { return *folder_ / "run"; }
  static std::string file(const std::string& name) { return *folder_ / name; }
  static json converted(Words words) {
    words.insert(words.begin(), "convert");
    words.emplace_back("--json");
    return done(words);
  }
  static void expect_refused(Words words, int code, const std::string& message) {
    words.insert(words.begin(), "convert");
    const Result result = run(words);
    EXPECT_EQ(result.code, code) << result.out;
    EXPECT_TRUE(contains(result.err, message)) << result.err;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  }
};

TEST_F(Convert, a_run_on_bytes_with_its_bill) {
  const std::string engine = file("int8.onnx");
  const json bill = converted({run_folder(), "--precision", "int8", "--onnx", engine});
  EXPECT_EQ(bill.at("precision"), "int8");
  EXPECT_GT(bill.at("calibration_samples"), 0);
  EXPECT_NEAR(bill.at("accuracy").get<double>(), bill.at("accuracy_before").get<double>(), 0.05);
  EXPECT_LT(bill.at("bytes"), bill.at("bytes_before").get<std::int64_t>() / 2);
  for (const json& op : bill.at("ops")) EXPECT_EQ(op.at("precision"), "int8");
  EXPECT_EQ(Engine::open(engine).inputs().size(), 1U);
}

TEST_F(Convert, tells_it_to_people_too) {
  const Result result = run({"convert", run_folder(), "--precision", "int8", "--sensitivity"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* text : {"accuracy", "same class", "weights", "most sensitive"})
    EXPECT_TRUE(contains(result.out, text)) << text << '\n' << result.out;
  EXPECT_EQ(run({"convert", run_folder(), "--precision", "bf16", "--quiet"}).out, "");
}

TEST_F(Convert, a_budget_that_is_not_kept_is_exit_7_with_the_table) {
  NamedTensor images{"images", Tensor(DType::f32, {8, 1, 8, 8})};
  const std::string engine = file("mlp.onnx");
  done({"export", run_folder(), "--onnx", engine, "--json"});
  images.name = Engine::open(engine).inputs().at(0).name;
  Dims dims{8};
  for (const Dim& dim : Engine::open(engine).inputs().at(0).type->shape)
    if (dim.is_known()) dims.push_back(dim.value());
  images.tensor = Tensor(DType::f32, dims);
  for (std::int64_t i = 0; i < images.tensor.size(); ++i)
    images.tensor.set(i, static_cast<double>(i % 13) / 13);
  write_npz(file("images.npz"), std::span(&images, 1));
  const Result result =
      run({"convert", engine, "-p", "int8", "--calibrate", file("images.npz"), "--max-drop", "0"});
  EXPECT_EQ(result.code, 7) << result.out;
  EXPECT_TRUE(contains(result.out, "not kept")) << result.out;
}

TEST_F(Convert, refuses_what_does_not_fit) {
  expect_refused({}, 2, "what to convert is missing");
  expect_refused({run_folder(), "--precision", "int4"}, 2, "int4");
  expect_refused({run_folder(), "--calibrator", "guess"}, 2, "guess");
  expect_refused({run_folder(), "--precision", "int8", "--calibrate", file("nowhere")}, 4,
                 "nowhere");
  expect_refused({file("nowhere.onnx"), "--precision", "bf16"}, 4, "nowhere.onnx");
  expect_refused({"--model", "lenet", "--precision", "int8"}, 2, "needs samples");
  NamedTensor images{"images", Tensor(DType::f32, {8, 3})};
  write_npz(file("other.npz"), std::span(&images, 1));
  expect_refused({"--model", "lenet", "-p", "int8", "--calibrate", file("other.npz")}, 4,
                 "input 'images'");
  expect_refused({run_folder(), "--onnx", file("no/such/folder.onnx"), "-p", "f32"}, 4,
                 "folder.onnx");
}

TEST_F(Convert, training_on_bytes_goes_on_and_converts_without_loss) {
  const std::string trained = file("trained");
  const json result = done({"train", run_folder(), "--quantize", "int8", "--epochs", "1", "--batch",
                            "32", "--output", trained, "--json", "--quiet"});
  const json bill = converted({trained, "--precision", "int8", "--onnx", file("trained.onnx")});
  EXPECT_NEAR(bill.at("accuracy").get<double>(), result.at("test_accuracy").get<double>(), 1e-9);
  EXPECT_FALSE(bill.at("ops").empty());
  const Result refused = run({"train", "--model", "mlp", "--data", data(), "--quantize", "int8"});
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(contains(refused.err, "--quantize: needs a trained network")) << refused.err;
}

}  // namespace
}  // namespace narrowgauge::testing_cli
