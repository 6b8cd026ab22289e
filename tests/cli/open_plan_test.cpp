// SPDX-License-Identifier: Apache-2.0
// Precision plans and overrides for model files whose sizes are open: a plan that was written for
// some sizes is taken for others by all commands.
#include <sstream>

#include "cli/training_fixture.h"
#include "io/files.h"
#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/model.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::testing_cli::open_plan_test {
namespace {

using testing_files::read_file;
using testing_support::integers;
using testing_support::onnx_node;
using testing_support::onnx_value;
using testing_support::SmallModel;

class OpenPlan : public Training {
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

  static void call(SmallModel& small, const std::string& name) {
    small.model.graph.nodes.back().name = name;
  }

  // Images of any height and width: a convolution, x sigmoid(x) of it in nodes of their own, rows
  // and columns in one axis by sizes that the file computes, their mean, and a product.
  static std::string images() {
    SmallModel small(17);
    small.input("images", "f32[N,1,H,W]").initializer("w", weight({16, 1, 3, 3}));
    small.initializer("v", weight({16, 4})).initializer("two", integers({1}, {2}));
    small.initializer("zero", integers({1}, {0})).initializer("end", integers({1}, {-1}));
    small.node("Conv", {"images", "w"}, {"c"}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    call(small, "convolution");
    small.node("Sigmoid", {"c"}, {"s"});
    call(small, "gate");
    small.node("Mul", {"c", "s"}, {"g"});
    call(small, "gated");
    small.node("Shape", {"g"}, {"sizes"}).node("Slice", {"sizes", "zero", "two"}, {"kept"});
    small.node("Concat", {"kept", "end"}, {"flat"}, {{"axis", std::int64_t{0}}});
    small.node("Reshape", {"g", "flat"}, {"r"});
    small.node("ReduceMean", {"r"}, {"m"},
               {{"axes", std::vector<std::int64_t>{2}}, {"keepdims", std::int64_t{0}}});
    small.node("MatMul", {"m", "v"}, {"e"});
    call(small, "head");
    return written(small.node("Identity", {"e"}, {"scores"}).output("scores"), "images.onnx");
  }

  // As many rounds as x has rows, each of which doubles the rows.
  static std::string rounds() {
    onnx::Graph body;
    body.inputs = {onnx_value("i", "i64[]"), onnx_value("go", "bool[]"),
                   onnx_value("h", "f32[M,4]")};
    body.nodes = {onnx_node("MatMul", {"h", "w"}, {"p"}),
                  onnx_node("Concat", {"h", "p"}, {"next"}, {{"axis", std::int64_t{0}}}),
                  onnx_node("Identity", {"go"}, {"on"})};
    body.nodes[0].name = "product";
    for (const char* name : {"on", "next"}) {
      body.outputs.emplace_back();
      body.outputs.back().name = name;
    }
    SmallModel small(17);
    small.input("x", "f32[N,4]").initializer("w", weight({4, 4}));
    small.initializer("true", Tensor::full(DType::boolean, {}, 1));
    small.initializer("zero", integers({}, {0}));
    small.node("Shape", {"x"}, {"sizes"}).node("Gather", {"sizes", "zero"}, {"rows"});
    small.node("Loop", {"rows", "true", "x"}, {"y"}, {{"body", onnx::Box<onnx::Graph>(body)}});
    call(small, "rounds");
    small.node("MatMul", {"y", "w"}, {"z"});
    call(small, "last");
    return written(small.node("Identity", {"z"}, {"out"}).output("out"), "rounds.onnx");
  }

  static void expect_done(const Words& words) {
    const Result result = run(words);
    EXPECT_EQ(result.code, 0) << result.err << "\nof " << words.front();
  }

  // "name format name format" of the lines of an op.
  static std::string formats_in(const std::string& plan, const std::string& op) {
    std::string formats;
    std::istringstream lines(read_file(plan));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string name, of, precision, format;
      words >> name >> of >> precision >> format;
      if (of == op) formats += name + ' ' + format + ' ';
    }
    return formats;
  }

  static std::string input(const std::string& name, Dims dims) {
    Tensor tensor(DType::f32, std::move(dims));
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(i % 5) / 5);
    const NamedTensor named{name, tensor};
    write_npz(file("inputs.npz"), std::span(&named, 1));
    return file("inputs.npz");
  }

  // All but training, where inputs have this shape; the outputs are near those without a plan.
  static void expect_taken(const std::string& path, const std::string& plan,
                           const std::string& input_name, const Dims& dims) {
    std::string shape = input_name + '=';
    for (std::size_t i = 0; i < dims.size(); ++i)
      shape += (i > 0 ? "x" : "") + std::to_string(dims[i]);
    const std::string inputs = input(input_name, dims), outputs = file("outputs.npz");
    const std::string onnx = file("written.onnx");
    expect_done({"run", path, "--input", inputs, "--output", outputs, "--math", "ieee"});
    const Words near{"--check", outputs, "--tolerance", "0.02"};
    const auto with = [](Words words, const Words& more) {
      words.insert(words.end(), more.begin(), more.end());
      return words;
    };
    expect_done(with({"run", path, "--input", inputs, "--plan", plan}, near));
    expect_done(
        {"explain", path, "--shape", shape, "--plan", plan, "--save-plan", plan + ".again"});
    expect_done(with({"run", path, "--input", inputs, "--plan", plan + ".again"}, near));
    for (const char* const command : {"export", "convert"}) {
      expect_done({command, path, "--shape", shape, "--plan", plan, "--onnx", onnx});
      expect_done(with({"run", onnx, "--input", inputs}, near));
    }
  }
};

TEST_F(OpenPlan, of_open_sizes_is_taken_for_any) {
  const std::string path = images(), plan = file("open.txt");
  expect_done({"explain", path, "--amp", "bf16", "--override", "gate=f32", "--save-plan", plan});
  EXPECT_EQ(formats_in(plan, "Swish"), "gated f32 ");
  for (const Dims& dims : {Dims{2, 1, 8, 8}, Dims{1, 1, 5, 9}})
    expect_taken(path, plan, "images", dims);
  EXPECT_EQ(formats_in(plan + ".again", "Swish"), "gated f32 ");
  EXPECT_EQ(formats_in(plan + ".again", "Conv"), "convolution bf16 ");
}

TEST_F(OpenPlan, of_known_sizes_is_taken_for_others_and_by_trainings) {
  const std::string path = images(), plan = file("known.txt"), trained = file("trained.txt");
  expect_done({"explain", path, "--shape", "images=2x1x6x6", "--amp", "bf16", "--override",
               "gate=f32", "--save-plan", plan});
  expect_taken(path, plan, "images", {3, 1, 8, 8});
  expect_done({"explain", path, "--plan", plan});
  expect_done({"train", path, "--data", data(), "--epochs", "1", "--batch", "32", "--quiet",
               "--plan", plan, "--save-plan", trained});
  EXPECT_EQ(formats_in(trained, "Swish"), "gated f32 ");
  EXPECT_EQ(formats_in(trained, "MatMul"), "head bf16 ");
  expect_taken(path, trained, "images", {3, 1, 4, 8});
}

TEST_F(OpenPlan, reaches_rounds_that_other_sizes_add) {
  const std::string path = rounds(), plan = file("rounds.txt");
  expect_done({"explain", path, "--shape", "x=2x4", "--amp", "bf16", "--override", "product=f32",
               "--save-plan", plan});
  EXPECT_EQ(formats_in(plan, "MatMul"), "product f32 product_2 f32 last bf16 ");
  expect_taken(path, plan, "x", {3, 4});
  EXPECT_EQ(formats_in(plan + ".again", "MatMul"),
            "product f32 product_2 f32 product_3 f32 last bf16 ");
  expect_taken(path, plan, "x", {1, 4});
  const Result unknown = run(
      {"run", path, "--input", input("x", {3, 4}), "--amp", "bf16", "--override", "prodct=f32"});
  EXPECT_EQ(unknown.code, 2) << unknown.err;
  EXPECT_TRUE(contains(unknown.err, "did you mean product?")) << unknown.err;
}

TEST_F(OpenPlan, of_another_file_is_refused_for_any_size) {
  const std::string path = rounds(), plan = file("other.txt");
  expect_done({"explain", images(), "--amp", "bf16", "--save-plan", plan});
  for (const Words& words : {Words{"run", path, "--input", input("x", {3, 4}), "--plan", plan},
                             Words{"explain", path, "--shape", "x=3x4", "--plan", plan}}) {
    const Result result = run(words);
    EXPECT_EQ(result.code, 3) << result.err;
    EXPECT_TRUE(contains(result.err, "the plan belongs to another model")) << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
  }
}

// The number of places that are not zero is known by values alone.
TEST_F(OpenPlan, where_each_node_is_computed_by_itself_nothing_is_reached) {
  SmallModel small(17);
  small.input("x", "f32[N,4]").initializer("w", weight({4, 4}));
  small.node("MatMul", {"x", "w"}, {"p"});
  call(small, "product");
  small.node("NonZero", {"p"}, {"n"}).node("Cast", {"n"}, {"y"}, {{"to", std::int64_t{1}}});
  const std::string path = written(small.output("y"), "places.onnx"), plan = file("places.txt");
  expect_done({"run", path, "--random", "3x4"});
  expect_done({"explain", images(), "--amp", "bf16", "--save-plan", plan});
  for (const Words& more :
       {Words{"--amp", "bf16", "--override", "product=f32"}, Words{"--plan", plan}}) {
    Words words{"run", path, "--random", "3x4"};
    words.insert(words.end(), more.begin(), more.end());
    const Result result = run(words);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_TRUE(contains(result.err, "reach nothing where each node is computed by itself"))
        << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
  }
  Model model = Model::from_onnx(path);
  const NamedTensor x{"x", Tensor::full(DType::f32, {3, 4}, 1)};
  model.run(std::span(&x, 1));
  model.set_precision({.narrow = DType::bf16, .overrides = {"product=f32"}});
  EXPECT_THROW(model.run(std::span(&x, 1)), UsageError);
}

TEST_F(OpenPlan, needs_sizes_where_shapes_are_known_by_them_alone) {
  const Result result = run({"explain", rounds(), "--amp", "bf16"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(contains(result.err, "rounds.onnx: shapes are known only for inputs of known sizes"))
      << result.err;
}

// One line that names what is near, and the exit code of a wrong flag, whatever the policy.
TEST_F(OpenPlan, an_override_that_reaches_nothing_is_refused_by_all_commands) {
  const std::string path = images(), onnx = file("none.onnx");
  for (const Words& more :
       {Words{"--override", "gte=f32"}, Words{"--override", "gte=f32", "--policy", "contractions"},
        Words{"--override", "gte=deny", "--override", "gate=f32"}})
    for (Words words : {Words{"explain", path}, Words{"run", path, "--random", "2x1x8x8"},
                        Words{"train", path, "--data", data(), "--epochs", "1", "--batch", "32"},
                        Words{"export", path, "--onnx", onnx}}) {
      words.insert(words.end(), {"--amp", "bf16"});
      words.insert(words.end(), more.begin(), more.end());
      const Result result = run(words);
      EXPECT_EQ(result.code, 2) << words.front() << result.err;
      EXPECT_TRUE(contains(result.err, "override '" + more[1] + '\'')) << result.err;
      EXPECT_TRUE(contains(result.err, "did you mean gate?")) << result.err;
      EXPECT_EQ(line_count(result.err), 1) << result.err;
      EXPECT_FALSE(std::filesystem::exists(onnx));
    }
  const Result in_f32 = run({"explain", path, "--amp", "off", "--override", "gate=f32"});
  EXPECT_EQ(in_f32.code, 2);
  EXPECT_TRUE(contains(in_f32.err, "--override: needs --amp f16 or bf16")) << in_f32.err;
}

}  // namespace
}  // namespace narrowgauge::testing_cli::open_plan_test
