// SPDX-License-Identifier: Apache-2.0
// `export` writes a network that other commands, and other programs, run.
#include "cli/training_fixture.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::testing_cli::export_test {
namespace {

class Export : public Training {
 protected:
  static std::string file(const std::string& name) { return *folder_ / name; }
  static Json exported(Words words) {
    words.insert(words.begin(), "export");
    words.emplace_back("--json");
    return done(words);
  }
  // The outputs of a file for the images, as `run` gives them.
  static Tensor outputs_of(const std::string& model, const std::string& images) {
    const std::string outputs = file("outputs.npz");
    const Result result = run({"run", model, "--input", images, "--output", outputs, "--quiet"});
    EXPECT_EQ(result.code, 0) << result.err;
    return read_npz(outputs).at(0).tensor;
  }
  static void expect_refused(const Words& words, const std::string& message) {
    const Result result = run(words);
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_TRUE(contains(result.err, message)) << result.err;
  }
};

TEST_F(Export, writes_a_run_for_batches_of_any_size) {
  const std::string run_folder = file("run"), model = file("run.onnx");
  done(quiet_json({"--output", run_folder}));
  const Json facts = exported({run_folder, "--onnx", model});
  EXPECT_EQ(facts.at("amp"), "off");
  EXPECT_EQ(facts.at("opset"), 21);
  EXPECT_GT(facts.at("parameters"), 0);
  const Json described = Json::parse(run({"info", model, "--json"}).out);
  EXPECT_TRUE(contains(described.at("inputs").at(0).at("type").get<std::string>(), "[N,"));
}

TEST_F(Export, computes_what_the_network_computed) {
  const std::string first = file("first.onnx"), again = file("again.onnx");
  exported({"--model", "lenet", "--onnx", first});
  exported({first, "--onnx", again});
  Tensor images(DType::f32, {3, 1, 28, 28});
  for (std::int64_t i = 0; i < images.size(); ++i) images.set(i, static_cast<double>(i % 7) - 3);
  const Json inputs = Json::parse(run({"info", first, "--json"}).out).at("inputs");
  ASSERT_EQ(inputs.size(), 1U);
  const NamedTensor input{inputs.at(0).at("name").get<std::string>(), images};
  write_npz(file("images.npz"), std::span(&input, 1));
  const Tensor got = outputs_of(again, file("images.npz"));
  EXPECT_EQ(got.dims(), (Dims{3, 10}));
  EXPECT_TRUE(got.same_bits(outputs_of(first, file("images.npz"))));
}

TEST_F(Export, fixes_the_batch_and_narrows_as_told) {
  const std::string model = file("narrow.onnx");
  const Json facts = exported({"--model", "mlp", "--onnx", model, "--amp", "f16", "--batch", "4"});
  EXPECT_EQ(facts.at("amp"), "f16");
  const Json described = Json::parse(run({"info", model, "--json"}).out);
  EXPECT_TRUE(contains(described.at("inputs").at(0).at("type").get<std::string>(), "f32[4,"));
  bool casts = false;
  for (const Json& op : described.at("ops")) casts = casts || op.at("op") == "Cast";
  EXPECT_TRUE(casts);
  const Json wide =
      exported({"--model", "mlp", "--onnx", model, "--amp", "f16", "--override", "Gemm=deny"});
  EXPECT_LT(wide.at("nodes"), facts.at("nodes"));
}

TEST_F(Export, refuses_flags_that_do_not_go_together) {
  expect_refused({"export", "--onnx", file("x.onnx")}, "what to export is missing");
  expect_refused({"export", "--model", "mlp"}, "--onnx");
  expect_refused({"export", "a.onnx", "--model", "mlp", "--onnx", file("x.onnx")}, "--model");
  expect_refused({"export", "a.onnx", "--weights", "w", "--onnx", file("x.onnx")}, "--weights");
  expect_refused({"export", "--model", "mlp", "--onnx", file("x.onnx"), "--override", "a=f32"},
                 "--override: needs --amp");
}

}  // namespace
}  // namespace narrowgauge::testing_cli::export_test
