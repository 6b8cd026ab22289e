// SPDX-License-Identifier: Apache-2.0
// Where the time of answers goes, by the public interface.
#include "narrowgauge/answer_profile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/small_training.h"
#include "io/files.h"
#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/trace.h"

namespace narrowgauge::answer_profile_test {
namespace {

std::vector<NamedTensor> inputs_for(const Model& model, std::int64_t batch) {
  return {{model.inputs().at(0).name, small_batch(0, batch)[0]}};
}

// Each kernel that ran has one run in each of so many answers, in order; returns how many ran.
std::size_t expect_whole(const AnswerProfile& profile, std::int64_t answers) {
  EXPECT_EQ(profile.answers, answers);
  std::vector<std::int64_t> times(profile.kernels.size());
  std::vector<double> sums(profile.kernels.size());
  double end = 0;
  for (const Trainer::KernelRun& run : profile.runs) {
    ++times.at(run.kernel);
    sums[run.kernel] += run.milliseconds;
    EXPECT_GE(run.begin, end);
    end = run.begin + run.milliseconds;
  }
  std::size_t ran = 0;
  for (std::size_t k = 0; k < times.size(); ++k) {
    if (times[k] > 0) ++ran;
    EXPECT_TRUE(times[k] == answers || times[k] == 0) << profile.kernels[k].node;
    EXPECT_NEAR(sums[k], profile.kernels[k].milliseconds, 1e-9) << profile.kernels[k].node;
  }
  return ran;
}

TEST(AnswerProfile, has_each_kernel_once_an_answer_and_begins_anew_each_time) {
  Model model("small", small_network());
  const std::vector<NamedTensor> inputs = inputs_for(model, 4);
  const std::size_t ran = expect_whole(profile_answers(model, inputs, 3), 3);
  EXPECT_GT(ran, 0u);
  model.run(inputs);
  EXPECT_EQ(expect_whole(profile_answers(model, inputs, 2), 2), ran);
}

TEST(AnswerProfile, of_an_engine_on_bytes_tells_its_kernels_and_their_work) {
  Model model("small", small_network());
  ConvertOptions options{.precision = EnginePrecision::int8, .calibration = small_source(32)};
  options.calibration_samples = 32;
  const Engine engine = convert(model, options);
  const AnswerProfile profile = profile_answers(engine, inputs_for(model, 4), 2);
  expect_whole(profile, 2);
  const std::vector<ProfileRow> rows = profile_rows(profile.kernels, profile.answers);
  ASSERT_FALSE(rows.empty());
  double share = 0;
  for (const ProfileRow& row : rows) share += row.share;
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_TRUE(std::ranges::any_of(rows, [](const ProfileRow& row) {
    return row.op.find("Quantized") != std::string::npos && row.gigaflops_per_second > 0;
  }));
}

using testing_support::floats;
using testing_support::SmallModel;

std::string saved(const SmallModel& model, const testing_files::TemporaryFolder& folder) {
  onnx::Model complete = model.model;
  complete.ir_version = 8;
  const std::string path = folder / "model.onnx";
  onnx::write_model(path, complete);
  return path;
}

TEST(AnswerProfile, of_a_model_that_is_planned_for_each_shape) {
  const testing_files::TemporaryFolder folder;
  SmallModel model(17);
  model.input("x", "f32[N]").input("y", "f32[M]").node("Add", {"x", "y"}, {"s"});
  Model broadcast = Model::from_onnx(saved(model.output("s"), folder));
  const NamedTensor inputs[] = {{"y", floats({1}, {3})}, {"x", floats({2}, {1, 2})}};
  EXPECT_EQ(expect_whole(profile_answers(broadcast, inputs, 2), 2), 1u);
}

TEST(AnswerProfile, is_refused_for_a_model_that_is_computed_node_by_node) {
  const testing_files::TemporaryFolder folder;
  SmallModel model(17);
  model.input("x", "f32[N]").node("NonZero", {"x"}, {"places"});
  Model places = Model::from_onnx(saved(model.output("places"), folder));
  const NamedTensor inputs[] = {{"x", floats({2}, {0, 5})}};
  EXPECT_NO_THROW(places.run(inputs));
  EXPECT_THROW(profile_answers(places, inputs, 2), ModelError);
}

TEST(AnswerProfile, refuses_what_does_not_fit) {
  Model model("small", small_network());
  EXPECT_THROW(profile_answers(model, inputs_for(model, 4), 0), UsageError);
  EXPECT_THROW(profile_answers(model, {}, 1), UsageError);
}

}  // namespace
}  // namespace narrowgauge::answer_profile_test
