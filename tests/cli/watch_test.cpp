// SPDX-License-Identifier: Apache-2.0
// Watching a training from the command line: metrics, metrics.csv, event files and profiles.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "cli/training_fixture.h"

namespace narrowgauge::testing_cli::watch_test {
namespace {

using testing_files::read_file;
using testing_files::write_file;

class Watching : public Training {};

int rows_of(const std::string& path) { return line_count(read_file(path)) - 1; }

TEST_F(Watching, a_run_folder_has_its_numbers_as_a_table_without_a_row_twice) {
  const std::string run_folder = *folder_ / "csv_run";
  ASSERT_EQ(run(train({"--output", run_folder, "--log-every", "2", "--keep", "9"})).code, 0);
  const std::string table = run_folder + "/metrics.csv";
  EXPECT_EQ(rows_of(table), 8);  // 8 steps an epoch: 2, 4, 6 and 8 of each
  const Words again{"train",       "--resume", run_folder + "/checkpoints/000001", "--epochs", "3",
                    "--log-every", "2"};
  const Result result = run(again);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(rows_of(table), 12);
  EXPECT_TRUE(contains(read_file(table), "\n24,3,")) << read_file(table);
}

TEST_F(Watching, event_files_are_written_for_each_training) {
  const std::string events = *folder_ / "events";
  ASSERT_EQ(run(train({"--tensorboard", events, "--histograms"})).code, 0);
  ASSERT_EQ(run(train({"--tensorboard", events + "/both", "--compare", "off,bf16"})).code, 0);
  std::string bytes;
  for (const auto& entry : std::filesystem::directory_iterator(events))
    if (entry.is_regular_file()) bytes += read_file(entry.path().string());
  for (const char* tag :
       {"train/loss", "train/learning_rate", "test/accuracy", "weights/", "gradients/"})
    EXPECT_TRUE(contains(bytes, tag)) << tag;
  for (const char* precision : {"/both/f32", "/both/bf16"})
    EXPECT_FALSE(std::filesystem::is_empty(events + precision)) << precision;
}

TEST_F(Watching, a_profile_is_a_trace_and_a_table) {
  const std::string trace = *folder_ / "trace.json";
  const Result result = run(train({"--profile", trace, "--profile-steps", "3"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "ms a step, over 3 steps")) << result.out;
  EXPECT_TRUE(contains(result.out, "matrix unit")) << result.out;
  const Json events = Json::parse(read_file(trace)).at("traceEvents");
  int steps = 0;
  for (const Json& event : events) steps += event.value("cat", "") == "step";
  EXPECT_EQ(steps, 3);
  const Result as_json = run(quiet_json({"--profile", trace}));
  ASSERT_EQ(as_json.code, 0) << as_json.err;
  const Json profile = Json::parse(as_json.out.substr(0, as_json.out.find('\n')));
  EXPECT_EQ(profile.at("event"), "profile");
  EXPECT_EQ(profile.at("steps"), 10);
  EXPECT_GT(profile.at("kernels").size(), 3u);
}

TEST_F(Watching, metrics_are_printed_and_in_json) {
  const Result result = run(train({"--metrics", "f1_by_class,confusion,auc,iou"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "test f1_by_class ")) << result.out;
  EXPECT_TRUE(contains(result.out, "labels in rows, predictions in columns")) << result.out;
  const Json last = done(quiet_json({"--metrics", "f1_by_class,confusion,auc,mse"}));
  EXPECT_GT(last.at("test_auc").get<double>(), 0.9);
  EXPECT_EQ(last.at("test_f1_by_class_values").size(), 4u);
  EXPECT_EQ(last.at("test_confusion_matrix").at("counts").size(), 16u);
  EXPECT_TRUE(last.at("test_mse").is_null());  // labels of classes have no distance
}

// The cells of the last row, by the headings.
std::map<std::string, std::string> last_row(const std::string& path) {
  const std::string text = read_file(path);
  std::istringstream headings(text.substr(0, text.find('\n'))), cells(last_line(text));
  std::map<std::string, std::string> row;
  for (std::string heading, cell; std::getline(headings, heading, ',');) {
    cell.clear();
    std::getline(cells, cell, ',');
    row[heading] = cell;
  }
  return row;
}

TEST_F(Watching, a_run_that_goes_on_measures_what_it_measured_unless_it_is_told_otherwise) {
  const std::string run_folder = *folder_ / "metrics_run", table = run_folder + "/metrics.csv";
  done(quiet_json({"--output", run_folder, "--metrics", "f1,auc"}));
  const auto resume = [&](const char* epochs, const Words& more = {}) {
    Words words{"train", "--resume", run_folder, "--epochs", epochs, "--json", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return done(words);
  };
  EXPECT_TRUE(resume("3").contains("test_auc"));
  auto row = last_row(table);
  EXPECT_EQ(row.at("epoch"), "3");
  EXPECT_NE(row.at("test_f1"), "");
  EXPECT_NE(row.at("test_auc"), "");
  const Json other = resume("4", {"--metrics", "iou,f1"});
  EXPECT_FALSE(other.contains("test_auc")) << other;
  row = last_row(table);
  EXPECT_EQ(row.at("epoch"), "4");
  EXPECT_NE(row.at("test_iou"), "");
  EXPECT_NE(row.at("test_f1"), "");
  EXPECT_EQ(row.at("test_auc"), "");
  EXPECT_TRUE(resume("5").contains("test_iou"));  // as it was told last
  const Words dump{"train", "--resume", run_folder, "--dump-config"};
  EXPECT_TRUE(contains(run(dump).out, "\nmetrics = \"iou,f1\"\n")) << run(dump).out;
}

TEST_F(Watching, flags_that_do_not_go_together_are_refused_in_one_line) {
  const auto refused = [](const Words& more, const char* text) {
    const Result result = run(train(more));
    EXPECT_EQ(result.code, 2) << text;
    EXPECT_TRUE(contains(result.err, text)) << result.err;
  };
  refused({"--histograms"}, "--histograms: needs --tensorboard");
  refused({"--log-every", "5"}, "--log-every: needs --output, --resume or --tensorboard");
  refused({"--profile-steps", "5"}, "--profile-steps: needs --profile");
  refused({"--profile", "t.json", "--compare", "off,bf16"}, "--profile: cannot be added");
  refused({"--log-every", "0", "--tensorboard", "x"}, "--log-every: expected a whole number");
  refused({"--metrics", "recall"}, "metric: expected one of accuracy, auc");
  const Result unwritable = run(train({"--profile", *folder_ / "none/trace.json"}));
  EXPECT_EQ(unwritable.code, 4) << unwritable.err;
  EXPECT_EQ(line_count(unwritable.err), 1) << unwritable.err;
  write_file(*folder_ / "file", "");
  EXPECT_EQ(run(train({"--tensorboard", *folder_ / "file/events"})).code, 4);
}

}  // namespace
}  // namespace narrowgauge::testing_cli::watch_test
