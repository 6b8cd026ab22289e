// SPDX-License-Identifier: Apache-2.0
// A precision plan that one command writes is taken by every other for the same network.
#include "cli/training_fixture.h"
#include "io/files.h"
#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::testing_cli::plan_test {
namespace {

using testing_files::read_file;
using testing_support::onnx_node;
using testing_support::SmallModel;

class Plan : public Training {
 protected:
  static std::string file(const std::string& name) { return *folder_ / name; }

  static std::string written(const SmallModel& small, const std::string& name) {
    onnx::Model complete = small.model;
    complete.ir_version = 8;
    onnx::write_model(file(name), complete);
    return file(name);
  }

  static Tensor weight(Dims dims) {
    Tensor made(DType::f32, std::move(dims));
    for (std::int64_t i = 0; i < made.size(); ++i)
      made.set(i, static_cast<double>(i * 7 % 13) / 26 - 0.23);
    return made;
  }

  // Flatten, Gemm, a loop of three rounds with a product in each, Gemm, Identity: for the images of
  // the tiny set. Some names need quotes, one node has none, and two share one.
  static std::string network() {
    SmallModel small(17);
    small.input("images", "f32[N,1,8,8]").initializer("w", weight({64, 16}));
    small.initializer("in", weight({16, 16})).initializer("v", weight({16, 4}));
    small.initializer("three", Tensor::from<std::int64_t>({}, std::vector<std::int64_t>{3}));
    small.initializer("true", Tensor::full(DType::boolean, {}, 1));
    onnx::Graph body;
    body.inputs = {testing_support::onnx_value("i", "i64[]"),
                   testing_support::onnx_value("go", "bool[]"),
                   testing_support::onnx_value("h", "f32[N,16]")};
    body.nodes = {onnx_node("MatMul", {"h", "in"}, {"p"}), onnx_node("Tanh", {"p"}, {"next"})};
    body.nodes[0].name = "inner product";
    for (const char* name : {"go", "next"}) {
      body.outputs.emplace_back();
      body.outputs.back().name = name;
    }
    small.node("Flatten", {"images"}, {"flat"}).node("MatMul", {"flat", "w"}, {"a"});
    small.model.graph.nodes.back().name = "first #1 \"wide\"";
    small.node("Relu", {"a"}, {"b"});
    small.model.graph.nodes.back().name = "same";
    small.node("Loop", {"three", "true", "b"}, {"c"}, {{"body", onnx::Box<onnx::Graph>(body)}});
    small.model.graph.nodes.back().name = "rounds";
    small.node("Relu", {"c"}, {"d"});
    small.model.graph.nodes.back().name = "same";
    small.node("MatMul", {"d", "v"}, {"e"}).node("Identity", {"e"}, {"scores"});
    return written(small.output("scores"), "looped.onnx");
  }

  static Words train_words(const std::string& path, const Words& more) {
    Words words{"train", path, "--data", data(), "--epochs", "1", "--batch", "32", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  static void expect_done(const Words& words) {
    const Result result = run(words);
    EXPECT_EQ(result.code, 0) << result.err << "\nof " << words.front();
  }

  // The format that a plan gives to the node: the word after its class.
  static std::string format_in(const std::string& plan, const std::string& node) {
    const std::string text = read_file(plan);
    std::size_t at = text.find("\n" + node + " ");
    EXPECT_NE(at, std::string::npos) << node << " in\n" << text;
    if (at == std::string::npos) return "";
    std::istringstream words(text.substr(at + 1 + node.size()));
    std::string op, precision, format;
    words >> op >> precision >> format;
    return format;
  }

  // What each command writes or says of the same file by the plan.
  void expect_taken_by_all(const std::string& path, const std::string& plan) {
    const std::string inputs = file("images.npz"), outputs = file("outputs.npz");
    Tensor images(DType::f32, {2, 1, 8, 8});
    for (std::int64_t i = 0; i < images.size(); ++i) images.set(i, static_cast<double>(i % 5) / 5);
    const NamedTensor input{"images", images};
    write_npz(inputs, std::span(&input, 1));
    expect_done({"explain", path, "--plan", plan, "--save-plan", file("explained.txt")});
    expect_done(train_words(path, {"--plan", plan, "--save-plan", file("trained.txt")}));
    for (const char* again : {"explained.txt", "trained.txt"}) {
      EXPECT_EQ(format_in(file(again), "e"), "bf16") << again;
      EXPECT_EQ(format_in(file(again), "\"rounds:body:inner product\""), "f32") << again;
      EXPECT_EQ(format_in(file(again), "\"first #1 \\\"wide\\\"\""), "bf16") << again;
    }
    expect_done({"run", path, "--input", inputs, "--plan", plan, "--output", outputs});
    const Tensor answer = read_npz(outputs).at(0).tensor;
    const std::string exported = file("exported.onnx"), converted = file("converted.onnx");
    expect_done({"export", path, "--plan", plan, "--onnx", exported});
    expect_done({"convert", path, "--plan", plan, "--onnx", converted});
    for (const std::string& written : {exported, converted}) {
      expect_done({"run", written, "--input", inputs, "--check", outputs, "--tolerance", "0.02"});
      expect_done({"explain", written});
    }
    EXPECT_EQ(answer.dims(), (Dims{2, 4}));
  }
};

TEST_F(Plan, of_predictions_is_taken_by_all_commands) {
  const std::string path = network(), plan = file("predictions.txt");
  expect_done(
      {"explain", path, "--amp", "bf16", "--override", "inner product=f32", "--save-plan", plan});
  EXPECT_EQ(format_in(plan, "scores"), "f32") << "an output keeps its format";
  expect_taken_by_all(path, plan);
}

TEST_F(Plan, of_a_training_is_taken_by_all_commands) {
  const std::string path = network(), plan = file("training.txt");
  expect_done(train_words(path, {"--amp", "bf16", "--override", "inner product=f32", "--optimizer",
                                 "adam", "--save-plan", plan}));
  expect_taken_by_all(path, plan);
}

TEST_F(Plan, of_another_network_is_refused_in_one_line_by_all_commands) {
  const std::string path = network(), other = file("other.onnx"), plan = file("other.txt");
  expect_done({"export", "--model", "mlp", "--image", "1x8x8", "--classes", "4", "--onnx", other});
  expect_done({"explain", other, "--amp", "bf16", "--save-plan", plan});
  const std::string onnx = file("none.onnx");
  for (const Words& words :
       {Words{"explain", path, "--plan", plan}, train_words(path, {"--plan", plan}),
        Words{"run", path, "--random", "2x1x8x8", "--plan", plan},
        Words{"export", path, "--plan", plan, "--onnx", onnx},
        Words{"convert", path, "--plan", plan, "--onnx", onnx}}) {
    const Result result = run(words);
    EXPECT_EQ(result.code, 3) << words.front() << result.out;
    EXPECT_TRUE(contains(result.err, "other.txt, line ")) << result.err;
    EXPECT_TRUE(contains(result.err, "the plan belongs to another model")) << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(onnx));
  }
}

TEST_F(Plan, refuses_what_it_decides_itself) {
  const std::string path = network(), plan = file("alone.txt"), onnx = file("alone.onnx");
  expect_done({"explain", path, "--amp", "bf16", "--save-plan", plan});
  for (const Words& more :
       {Words{"--amp", "f16"}, Words{"--policy", "contractions"}, Words{"--override", "e=f32"}})
    for (Words words : {Words{"explain", path, "--plan", plan},
                        Words{"run", path, "--random", "2x1x8x8", "--plan", plan},
                        Words{"export", path, "--plan", plan, "--onnx", onnx}}) {
      words.insert(words.end(), more.begin(), more.end());
      const Result result = run(words);
      EXPECT_EQ(result.code, 2) << words.front() << result.err;
      EXPECT_TRUE(contains(result.err, "--plan: ")) << result.err;
    }
  const Result result = run({"convert", path, "--plan", plan, "--precision", "f16"});
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_TRUE(contains(result.err, "the plan is in bf16, and f16 was asked for")) << result.err;
}

}  // namespace
}  // namespace narrowgauge::testing_cli::plan_test
