// SPDX-License-Identifier: Apache-2.0
// `predict` shows what a network takes samples for, and saves its outputs.
#include <sstream>

#include "cli/training_fixture.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::testing_cli::predict_test {
namespace {

class Predict : public Training {
 protected:
  static std::string trained(const std::string& amp) {
    const std::string folder = *folder_ / amp;
    done(quiet_json({"--amp", amp, "--output", folder}));
    return folder;
  }
  static std::vector<Json> lines(const std::string& text) {
    std::vector<Json> found;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) found.push_back(Json::parse(line));
    return found;
  }
};

TEST_F(Predict, is_as_often_right_as_evaluate_says) {
  for (const char* amp : {"off", "bf16"}) {
    const std::string run_folder = trained(amp);
    const Json evaluated = done({"evaluate", run_folder, "--json"});
    const Result result = run({"predict", run_folder, "--json", "--batch", "7"});
    ASSERT_EQ(result.code, 0) << result.err;
    std::int64_t right = 0;
    const std::vector<Json> samples = lines(result.out);
    for (const Json& sample : samples) {
      right += sample.at("predicted") == sample.at("label");
      EXPECT_GT(sample.at("share"), 0);
      EXPECT_LE(sample.at("share"), 1);
    }
    EXPECT_EQ(static_cast<std::int64_t>(samples.size()), evaluated.at("test_samples"));
    EXPECT_NEAR(static_cast<double>(right) / static_cast<double>(samples.size()),
                evaluated.at("test_accuracy"), 1e-9);
  }
}

TEST_F(Predict, saves_what_it_shows) {
  const std::string run_folder = trained("off"), file = *folder_ / "predictions.npz";
  const Result result = run({"predict", run_folder, "--count", "5", "--json", "--save", file});
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<Json> samples = lines(result.out);
  ASSERT_EQ(samples.size(), 5U);
  for (const NamedTensor& array : read_npz(file))
    EXPECT_EQ(array.tensor.dims().front(), 5) << array.name;
  const Tensor predicted = read_npz(file, "predicted");
  for (std::int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(predicted.at(i), samples[static_cast<std::size_t>(i)].at("predicted"));
  const std::vector<Json> in_parts =
      lines(run({"predict", run_folder, "--count", "5", "--batch", "3", "--json"}).out);
  ASSERT_EQ(in_parts.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(in_parts[i].at("label"), samples[i].at("label"));
    EXPECT_NEAR(in_parts[i].at("share"), samples[i].at("share"), 1e-6);
  }
  EXPECT_EQ(run({"predict", run_folder, "--quiet"}).out, "");
}

TEST_F(Predict, refuses_what_it_cannot_do) {
  const std::string run_folder = trained("off");
  EXPECT_EQ(run({"predict", "/no/such/run"}).code, 4);
  EXPECT_EQ(run({"predict", run_folder, "--count", "0"}).code, 2);
  EXPECT_EQ(run({"predict", run_folder, "--save", "/no/such/folder/p.npz", "--quiet"}).code, 4);
}

}  // namespace
}  // namespace narrowgauge::testing_cli::predict_test
