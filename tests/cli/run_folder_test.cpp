// SPDX-License-Identifier: Apache-2.0
// The folder of a run: what is written there and when, who may write, and what is cleaned up.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "api/runs/checkpoint_folder.h"
#include "cli/training_fixture.h"
#include "support/earlier_run.h"

namespace narrowgauge::testing_cli::run_folder_test {
namespace {

using testing_files::read_file;
using testing_files::write_file;

class RunFolder : public Training {};

TEST_F(RunFolder, checkpoints_are_written_and_kept_as_asked) {
  const std::string folder = *folder_ / "often";
  const Result result =
      run(train({"--json", "--checkpoint-every", "3", "--keep", "4", "--output", folder}));
  ASSERT_EQ(result.code, 0) << result.err;
  std::vector<std::string> told;
  for (std::size_t begin = 0; begin < result.out.size();) {
    const std::size_t end = result.out.find('\n', begin);
    const Json line = Json::parse(result.out.substr(begin, end - begin));
    if (line.at("event") == "checkpoint") told.push_back(line.at("path"));
    begin = end + 1;
  }
  ASSERT_EQ(told.size(), 6u);  // of 16 steps the 3rd, 6th ... 15th and the last
  EXPECT_EQ(told.back(), folder + "/checkpoints/000006");
  EXPECT_EQ(Json::parse(last_line(result.out)).at("checkpoint"), told.back());
  for (std::size_t i = 0; i < told.size(); ++i)
    EXPECT_EQ(std::filesystem::exists(told[i]), i >= 2) << told[i];
  const Json manifest = Json::parse(read_file(told[4] + "/manifest.json"));
  EXPECT_EQ(manifest.at("steps"), 15);
  // One of them is a run too, and going on from it saves beside it.
  EXPECT_EQ(done({"evaluate", told[3], "--json"}).at("run"), told[3]);
  const Json further = done({"train", "--resume", told[3], "--json", "--quiet"});
  EXPECT_EQ(further.at("steps"), 4);
  EXPECT_EQ(further.at("output"), folder);
}

TEST_F(RunFolder, times_and_epochs_between_checkpoints) {
  const auto saved = [&](const char* every, const char* name) {
    const std::string folder = *folder_ / name;
    const Result result = run(
        train({"--epochs", "4", "--checkpoint-every", every, "--keep", "99", "--output", folder}));
    EXPECT_EQ(result.code, 0) << result.err;
    return std::distance(std::filesystem::directory_iterator(folder + "/checkpoints"), {});
  };
  EXPECT_EQ(saved("2epochs", "epochs"), 2);
  EXPECT_EQ(saved("10h", "hours"), 1);
  EXPECT_GT(saved("0.000001s", "moments"), 10);
  for (const char* wrong : {"0", "-1", "5 apples", "1.5", "min", "infs", "0.5epoch", ""}) {
    const Result result = run(train({"--output", *folder_ / "wrong", "--checkpoint-every", wrong}));
    EXPECT_EQ(result.code, 2) << wrong << result.err;
    EXPECT_TRUE(contains(result.err, "--checkpoint-every: expected")) << result.err;
  }
  EXPECT_EQ(run(train({"--checkpoint-every", "5"})).code, 2);
}

TEST_F(RunFolder, a_folder_in_use_is_refused_at_once_and_names_its_process) {
  const std::string folder = *folder_ / "shared";
  done(quiet_json({"--output", folder}));
  {
    const CheckpointFolder mine(folder);
    for (const Words& words : {train({"--output", folder}), Words{"train", "--resume", folder}}) {
      const Result result = run(words);
      EXPECT_EQ(result.code, 2) << result.err;
      EXPECT_TRUE(contains(result.err,
                           folder + ": is in use by process " + std::to_string(getpid()) + " on "))
          << result.err;
    }
    EXPECT_EQ(run({"evaluate", folder}).code, 0);
  }
  EXPECT_EQ(run({"train", "--resume", folder}).code, 0);
}

TEST_F(RunFolder, a_refused_training_leaves_no_folder_of_its_own) {
  const std::string absent = *folder_ / "absent", empty = *folder_ / "empty";
  std::filesystem::create_directory(empty);
  for (const std::string& folder : {absent, empty}) {
    const Result result =
        run({"train", "--model", "lenet", "--data", *folder_ / "nowhere", "--output", folder});
    EXPECT_EQ(result.code, 4) << result.err;
  }
  EXPECT_FALSE(std::filesystem::exists(absent));
  EXPECT_TRUE(std::filesystem::exists(empty));
}

TEST_F(RunFolder, leftovers_of_ended_processes_are_removed_and_nothing_else) {
  const std::string folder = *folder_ / "leftovers";
  done(quiet_json({"--output", folder}));
  const std::vector<std::string> ours{
      "/plan.txt.part", "/.run.json.0123456789ab.tmp", "/.model.safetensors.1234.0.tmp",
      "/.metrics.csv.0123456789ab.tmp", "/checkpoints/.000002.0123456789ab.tmp/model.safetensors"};
  const std::vector<std::string> theirs{"/notes.tmp", "/.notes.0123456789ab.tmp",
                                        "/checkpoints/mine/.000002.0123456789ab.tmp"};
  for (const auto& names : {ours, theirs})
    for (const std::string& name : names) {
      std::filesystem::create_directories(std::filesystem::path(folder + name).parent_path());
      write_file(folder + name, "x");
    }
  done({"train", "--resume", folder, "--json", "--quiet"});
  for (const std::string& name : ours) EXPECT_FALSE(std::filesystem::exists(folder + name)) << name;
  for (const std::string& name : theirs)
    EXPECT_TRUE(std::filesystem::exists(folder + name)) << name;
}

TEST_F(RunFolder, folders_of_the_earlier_form_are_evaluated_and_go_on) {
  const auto sha = [](const Json& line) { return line.at("weights_sha256"); };
  const std::string folder = *folder_ / "earlier";
  const Json trained = done(quiet_json({"--deterministic", "--amp", "bf16", "--output", folder}));
  make_earlier_form(folder);
  const Json evaluated = done({"evaluate", folder, "--json"});
  EXPECT_EQ(evaluated.at("test_loss"), trained.at("test_loss"));
  EXPECT_EQ(evaluated.at("amp"), "bf16");
  done({"train", "--resume", folder, "--json", "--quiet"});
  EXPECT_EQ(sha(done({"train", "--resume", folder, "--json", "--quiet"})), sha(trained));
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/model.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/state.safetensors"));
}

// The seeds of the checkpoints in a folder.
std::set<std::int64_t> seeds_in(const std::string& folder) {
  std::set<std::int64_t> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/checkpoints")) {
    const std::string text = read_file(entry.path().string() + "/run.json");
    seeds.insert(Json::parse(text).at("settings").at("seed").get<std::int64_t>());
  }
  return seeds;
}

// Where every file and link of a folder leads, with its content.
std::map<std::string, std::string> contents_of(const std::string& folder) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    if (entry.is_symlink())
      all[name] = "leads to " + fs::read_symlink(entry.path()).string();
    else if (entry.is_regular_file())
      all[name] = read_file(entry.path().string());
  }
  return all;
}

TEST_F(RunFolder, a_new_run_keeps_an_older_one_aside_with_its_first_checkpoint) {
  const std::string folder = *folder_ / "replaced";
  done(quiet_json({"--seed", "2", "--checkpoint-every", "5", "--keep-best", "--output", folder,
                   "--tensorboard", folder + "/events"}));
  write_file(folder + "/report.html", "of seed 2");
  write_file(folder + "/notes.txt", "mine");
  auto before = contents_of(folder);
  const Json old = done({"evaluate", folder, "--json"});
  for (const char* seed : {"3", "4"}) {
    Words words = quiet_json({"--seed", seed, "--checkpoint-every", "7", "--keep", "9"});
    words.insert(words.end(), {"--output", folder + (*seed == '4' ? "/" : ""), "--tensorboard",
                               folder + "/events"});
    const Result result = run(words);
    ASSERT_EQ(result.code, 0) << result.err;
    const std::string aside = folder + (*seed == '3' ? ".1" : ".2");
    EXPECT_TRUE(contains(result.err, "held an earlier run, which is kept as " + aside))
        << result.err;
    EXPECT_EQ(line_count(result.err), 1);
  }
  EXPECT_EQ(seeds_in(folder), std::set<std::int64_t>{4});
  EXPECT_EQ(seeds_in(folder + ".1"), std::set<std::int64_t>{2});
  EXPECT_EQ(seeds_in(folder + ".2"), std::set<std::int64_t>{3});
  EXPECT_EQ(read_file(folder + "/notes.txt"), "mine");
  before.erase("notes.txt");
  EXPECT_EQ(contents_of(folder + ".1"), before);
  const Json again = done({"evaluate", folder + ".1", "--json"});
  EXPECT_EQ(again.at("test_loss"), old.at("test_loss"));
  EXPECT_EQ(run({"evaluate", folder + ".1/best"}).code, 0);
  EXPECT_EQ(run({"train", "--resume", folder + ".1", "--epochs", "3", "--quiet"}).code, 0);
  const Result on = run({"train", "--resume", folder, "--epochs", "3", "--quiet"});
  EXPECT_FALSE(contains(on.err, "kept as")) << on.err;
}

TEST_F(RunFolder, a_training_that_fails_leaves_the_older_run_as_it_was) {
  const std::string folder = *folder_ / "stays";
  done(quiet_json({"--seed", "2", "--output", folder, "--profile", folder + "/trace.json"}));
  const auto before = contents_of(folder);
  const std::vector<Words> failing{
      train({"--output", folder, "--no-such-flag"}),
      {"train", "--model", "mlp", "--data", *folder_ / "nowhere", "--output", folder},
      train({"--output", folder, "--batch", "1000"}),
      train({"--output", folder, "--lr", "1e30", "--log-every", "1", "--clip", "0", "--profile",
             folder + "/trace.json"}),
      train({"--output", folder, "--amp", "f16", "--loss-scale", "1e30", "--max-skips", "2",
             "--log-every", "1"})};
  for (const Words& words : failing) {
    EXPECT_NE(run(words).code, 0);
    EXPECT_EQ(contents_of(folder), before);
    EXPECT_FALSE(std::filesystem::exists(folder + ".1"));
  }
}

TEST_F(RunFolder, files_of_others_and_of_the_earlier_form_are_kept_aside_too) {
  const std::string folder = *folder_ / "downloaded";
  std::filesystem::create_directories(folder);
  write_file(folder + "/model.safetensors", "of another program");
  write_file(folder + "/tokenizer.json", "its own");
  EXPECT_EQ(run(train({"--quiet", "--output", folder})).code, 0);
  EXPECT_EQ(read_file(folder + ".1/model.safetensors"), "of another program");
  EXPECT_EQ(read_file(folder + "/tokenizer.json"), "its own");
  const std::string earlier = *folder_ / "old";
  const Json trained = done(quiet_json({"--output", earlier}));
  make_earlier_form(earlier);
  done(quiet_json({"--seed", "3", "--output", earlier}));
  EXPECT_EQ(done({"evaluate", earlier + ".1", "--json"}).at("test_loss"), trained.at("test_loss"));
  EXPECT_EQ(seeds_in(earlier), std::set<std::int64_t>{3});
}

TEST_F(RunFolder, is_no_checkpoint) {
  const std::string folder = *folder_ / "whole";
  done(quiet_json({"--output", folder}));
  const auto before = contents_of(folder);
  for (const char* part : {"/latest", "/checkpoints/000001"}) {
    const Result result = run(train({"--output", folder + part}));
    EXPECT_EQ(result.code, 2);
    EXPECT_TRUE(contains(result.err, "is a checkpoint, in which nothing is written"));
  }
  EXPECT_EQ(contents_of(folder), before);
}

TEST_F(RunFolder, of_a_comparison_are_kept_aside_each) {
  const std::string folder = *folder_ / "compared";
  for (const char* seed : {"2", "3"})
    EXPECT_EQ(run(train({"--seed", seed, "--compare", "off,bf16", "--output", folder})).code, 0);
  for (const char* format : {"/f32", "/bf16"}) {
    EXPECT_EQ(seeds_in(folder + format), std::set<std::int64_t>{3});
    EXPECT_EQ(seeds_in(folder + format + ".1"), std::set<std::int64_t>{2});
    EXPECT_TRUE(std::filesystem::exists(folder + format + "/metrics.csv"));
    EXPECT_TRUE(std::filesystem::exists(folder + format + ".1/metrics.csv"));
  }
}

}  // namespace
}  // namespace narrowgauge::testing_cli::run_folder_test
