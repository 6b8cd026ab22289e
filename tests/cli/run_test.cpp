// SPDX-License-Identifier: Apache-2.0
// `run`: inputs by name from files, images made ready, outputs checked, and what is refused.
#include "cli/training_fixture.h"
#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::testing_cli::run_test {
namespace {

using testing_support::floats;
using testing_support::SmallModel;

class Run : public Training {
 protected:
  static std::string file(const std::string& name) { return *folder_ / name; }
  static std::string saved(const SmallModel& model, const std::string& name) {
    onnx::Model complete = model.model;
    complete.ir_version = 8;
    onnx::write_model(file(name), complete);
    return file(name);
  }
  // y = x * w, with w = [1, 10], and z = -x.
  static std::string scaled() {
    SmallModel model(17);
    model.input("x", "f32[N,2,H,W]").initializer("w", floats({2, 1, 1}, {1, 10}));
    model.node("Mul", {"x", "w"}, {"y"}).node("Neg", {"x"}, {"z"});
    return saved(model.output("y").output("z"), "scaled.onnx");
  }
  static void expect_refused(const Words& words, int code, const std::string& message) {
    const Result result = run(words);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_TRUE(contains(result.err, message)) << result.err;
  }
};

TEST_F(Run, images_are_made_ready_and_outputs_checked) {
  Tensor pixels(DType::u8, {1, 3, 2});  // one row of three pixels, two channels
  for (std::int64_t i = 0; i < pixels.size(); ++i) pixels.set(i, static_cast<double>(i));
  write_npy(file("image.npy"), pixels);
  const Words words{"run",      scaled(), "--input",  "x=" + file("image.npy"),
                    "--layout", "nhwc",   "--mean",   "0,1",
                    "--scale",  "1,0.5",  "--output", file("o.npz")};
  ASSERT_EQ(run(words).code, 0) << run(words).err;
  const auto outputs = read_npz(file("o.npz"));
  EXPECT_EQ(testing_support::numbers_of(outputs.at(0).tensor),
            (std::vector<double>{0, 2, 4, 0, 10, 20}));
  EXPECT_EQ(outputs.at(1).name, "z");
  Words checked = words;
  checked.insert(checked.end(), {"--check", file("o.npz"), "--tolerance", "0", "--json"});
  EXPECT_EQ(run(checked).code, 0);
  write_npz(file("other.npz"), std::vector<NamedTensor>{{"y", Tensor(DType::f32, {1, 2, 1, 3})}});
  checked[checked.size() - 4] = file("other.npz");
  expect_refused(checked, 7, "output 'y' differs");
}

TEST_F(Run, random_inputs_and_times) {
  const Result result =
      run({"run", scaled(), "--random", "1x2x3x4", "--repeat", "3", "--json", "--amp", "bf16"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "\"median_seconds\":"));
  EXPECT_TRUE(contains(result.out, "f32[1,2,3,4]"));
}

TEST_F(Run, a_profile_is_a_trace_and_a_table) {
  const std::string model = scaled(), trace = file("trace.json");
  const Words words{"run", model, "--random", "1x2x30x40", "--profile", trace};
  const Result table = run(words);
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_TRUE(contains(table.out, "ms an answer, over 10 answers")) << table.out;
  EXPECT_TRUE(contains(table.out, "\nMul ")) << table.out;
  Words counted = words;
  counted.insert(counted.end(), {"--repeat", "3", "--json"});
  const Result result = run(counted);
  const Json profile = Json::parse(last_line(result.out));
  EXPECT_EQ(profile.at("event"), "profile");
  EXPECT_EQ(profile.at("answers"), 3);
  ASSERT_EQ(profile.at("kernels").size(), 2u);  // Mul and Neg
  double share = 0;
  for (const Json& kernel : profile.at("kernels")) share += kernel.at("share").get<double>();
  EXPECT_NEAR(share, 1, 1e-6);
  std::map<std::string, int> slices;
  const Json events = Json::parse(testing_files::read_file(trace)).at("traceEvents");
  for (const Json& event : events)
    if (event.at("ph") == "X") ++slices[event.at("cat").get<std::string>()];
  EXPECT_EQ(slices, (std::map<std::string, int>{{"answer", 3}, {"forward", 6}}));
  counted.back() = "--quiet";
  EXPECT_FALSE(contains(run(counted).out, "share"));
  const std::string nowhere = file("none/trace.json");
  const Result refused = run({"run", model, "--random", "1x2x3x4", "--profile", nowhere});
  EXPECT_EQ(refused.code, 4);
  EXPECT_EQ(refused.out, "");  // before the model ran
  EXPECT_EQ(line_count(refused.err), 1) << refused.err;
  EXPECT_TRUE(contains(refused.err, nowhere + ": cannot be written")) << refused.err;
}

TEST_F(Run, what_does_not_fit_ends_in_one_line) {
  const std::string model = scaled();
  expect_refused({"run", model}, 4, "input 'x' is expected once");
  expect_refused({"run", model, "--random", "q=1x2"}, 4, "has no input 'q'");
  expect_refused({"run", model, "--random", "1x2"}, 4, "expected f32[N,2,H,W], got f32[1,2]");
  expect_refused({"run", model, "--random", "1xtwo"}, 2, "--random: expected sizes");
  expect_refused({"run", model, "--input", "/no/such.npy"}, 4, "/no/such.npy");
  expect_refused({"run", "/no/such.onnx"}, 4, "/no/such.onnx");
  SmallModel unknown(17);
  unknown.input("x", "f32[2]").node("Rleu", {"x"}, {"y"}).output("y");
  expect_refused({"run", saved(unknown, "unknown.onnx"), "--random", "2"}, 3, "did you mean Relu?");
  const std::string whole = testing_files::read_file(model);
  testing_files::write_file(file("cut.onnx"), whole.substr(0, whole.size() / 2));
  expect_refused({"run", file("cut.onnx"), "--random", "1x2x3x4"}, 4, "cut off");
}

}  // namespace
}  // namespace narrowgauge::testing_cli::run_test
