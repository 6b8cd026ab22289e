// SPDX-License-Identifier: Apache-2.0
// Runs that go on say what they go on from, and keep what they were: images as they were
// normalized, the data, the best checkpoint, the network.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/training_fixture.h"
#include "support/earlier_run.h"

namespace narrowgauge::testing_cli::resume_test {
namespace {

namespace fs = std::filesystem;
using testing_files::read_file;
using testing_files::write_file;

class Resume : public Training {
 protected:
  static std::string folder(const std::string& name) { return *folder_ / name; }
  static Words resume(const std::string& folder, const Words& more = {}) {
    Words words{"train", "--resume", folder, "--json", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static Json record(const std::string& folder) {
    return Json::parse(read_file(folder + "/run.json"));
  }
  // The tiny set with the changes that `change` makes to its files.
  template <class Change>
  static std::string other_data(const std::string& name, const Change& change) {
    const std::string other = write_tiny_data(folder(name));
    change(other);
    return other;
  }
  // The only line of a refusal.
  static std::string refusal(const Words& words, int code) {
    const Result result = run(words);
    EXPECT_EQ(result.code, code) << result.out << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
    return result.err;
  }
};

TEST_F(Resume, normalizes_images_as_the_run_did) {
  const Words constant{"--deterministic", "--schedule", "constant", "--mean", "0.25",
                       "--deviation",     "0.75"};
  Words whole = quiet_json(constant), part = quiet_json(constant);
  whole.insert(whole.end(), {"--epochs", "4"});
  part.insert(part.end(), {"--output", folder("normalized")});
  done(part);
  EXPECT_EQ(done(resume(folder("normalized"), {"--epochs", "4"})).at("weights_sha256"),
            done(whole).at("weights_sha256"));
  EXPECT_EQ(record(folder("normalized")).at("images").at("mean"), Json::parse("[0.25]"));
  done(resume(folder("normalized"), {"--epochs", "5", "--mean", "0.5"}));
  EXPECT_EQ(record(folder("normalized")).at("images").at("mean"), Json::parse("[0.5]"));
}

TEST_F(Resume, on_other_data_is_refused_and_names_them) {
  const std::string path = folder("data_run");
  done(quiet_json({"--output", path}));
  const std::string before = read_file(path + "/run.json");
  const std::string fewer = other_data("fewer", [](const std::string& other) {
    write_file(other + "/train-images-idx3-ubyte", tiny_images(128));
    write_file(other + "/train-labels-idx1-ubyte", tiny_labels(128));
  });
  const std::string text = refusal(resume(path, {"--data", fewer}), 4);
  EXPECT_TRUE(contains(text, "is of another training: the training samples are 256 of " + data()))
      << text;
  EXPECT_TRUE(contains(text, "here 128 of " + fewer)) << text;
  EXPECT_FALSE(contains(text, "the test samples")) << text;
  const std::string one_pixel = other_data("one_pixel", [](const std::string& other) {
    std::string bytes = read_file(other + "/t10k-images-idx3-ubyte");
    bytes.back() ^= 1;
    write_file(other + "/t10k-images-idx3-ubyte", bytes);
  });
  const std::string both = refusal(resume(path, {"--data", one_pixel, "--seed", "2"}), 4);
  EXPECT_TRUE(contains(both, "; the test samples are 64 of ")) << both;
  EXPECT_TRUE(contains(both, "the seed is '1', here '2'")) << both;
  EXPECT_FALSE(contains(both, "the training samples")) << both;
  EXPECT_EQ(read_file(path + "/run.json"), before);
}

TEST_F(Resume, on_images_of_another_shape_names_both_shapes) {
  const std::string path = folder("shape_run"), larger = write_tiny_data(folder("larger"), 10);
  done(quiet_json({"--output", path}));
  const std::string text = refusal(resume(path, {"--data", larger}), 4);
  EXPECT_TRUE(contains(text, larger + ": expected images of 1x8x8 as the run was trained on, found "
                                      "1x10x10"))
      << text;
}

TEST_F(Resume, takes_the_same_data_wherever_they_lie) {
  const std::string path = folder("moved_run");
  done(quiet_json({"--output", path}));
  const std::string moved = other_data("moved", [](const std::string&) {});
  EXPECT_EQ(done(resume(path, {"--data", moved, "--epochs", "3"})).at("steps"), 8);
  EXPECT_EQ(record(path).at("settings").at("data"), moved);
}

TEST_F(Resume, of_a_record_that_says_nothing_of_its_data_goes_on) {
  const std::string path = folder("silent");
  done(quiet_json({"--output", path}));
  make_earlier_form(path);
  const Json old = record(path);
  ASSERT_TRUE(old.contains("data_set"));
  write_file(path + "/run.json", old.without("data_set").dump());
  EXPECT_EQ(done(resume(path, {"--epochs", "3"})).at("steps"), 8);
  EXPECT_TRUE(record(path).contains("data_set"));
}

TEST_F(Resume, by_another_metric_judges_anew_and_says_so) {
  const std::string path = folder("metric");
  done(quiet_json({"--lr", "0", "--patience", "9", "--watch", "loss", "--output", path}));
  const Result result =
      run(resume(path, {"--epochs", "9", "--watch", "accuracy", "--patience", "2"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "judges by accuracy from here on, by loss before"))
      << result.err;
  EXPECT_EQ(line_count(result.err), 1) << result.err;
  EXPECT_EQ(Json::parse(last_line(result.out)).at("steps"), 3 * 8);
}

TEST_F(Resume, into_another_folder_takes_the_best_checkpoint_along) {
  const std::string from = folder("best_from"), to = folder("best_to");
  done(quiet_json({"--lr", "0", "--epochs", "3", "--keep-best", "--output", from}));
  ASSERT_EQ(fs::read_symlink(from + "/best"), "checkpoints/000001");
  // The rate of 0 never makes anything better.
  done(resume(from, {"--output", to, "--epochs", "5"}));
  const Result best = run({"evaluate", to + "/best", "--json"});
  ASSERT_EQ(best.code, 0) << best.err;
  EXPECT_EQ(Json::parse(best.out).at("step"), 8);
  EXPECT_EQ(read_file(to + "/best/model.safetensors"), read_file(from + "/best/model.safetensors"));
  EXPECT_EQ(Json::parse(run({"evaluate", to, "--json"}).out).at("step"), 40);
}

TEST_F(Resume, from_before_the_best_leaves_that_where_it_is) {
  const std::string from = folder("later_from"), to = folder("later_to");
  done(quiet_json({"--epochs", "3", "--keep-best", "--keep", "9", "--output", from}));
  ASSERT_EQ(fs::read_symlink(from + "/best"), "checkpoints/000003");
  done(resume(from + "/checkpoints/000001", {"--output", to, "--epochs", "2"}));
  EXPECT_LE(Json::parse(run({"evaluate", to + "/best", "--json"}).out).at("step"), 16);
}

TEST_F(Resume, evaluation_says_which_checkpoint_it_took) {
  const std::string path = folder("which");
  done(quiet_json({"--lr", "0", "--epochs", "2", "--keep-best", "--output", path}));
  EXPECT_TRUE(contains(run({"evaluate", path}).out,
                       "checkpoint      000002, step 16; RUN/best is another\n"));
  EXPECT_TRUE(contains(run({"evaluate", path + "/best"}).out,
                       "checkpoint      000001, step 8, the best\n"));
  const Json newest = done({"evaluate", path, "--json"}),
             best = done({"evaluate", path + "/best", "--json"});
  EXPECT_EQ(newest.at("checkpoint"), path + "/checkpoints/000002");
  EXPECT_EQ(newest.at("step"), 16);
  EXPECT_EQ(newest.at("best"), false);
  EXPECT_EQ(best.at("step"), 8);
  EXPECT_EQ(best.at("best"), true);
  make_earlier_form(path);
  EXPECT_EQ(done({"evaluate", path, "--json"}).at("step"), 16);
  EXPECT_TRUE(contains(run({"evaluate", path}).out, "checkpoint      which, step 16\n"));
}

}  // namespace
}  // namespace narrowgauge::testing_cli::resume_test
