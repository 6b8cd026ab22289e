// SPDX-License-Identifier: Apache-2.0
// `train --keep-ranges` lets a run be converted to int8 without samples.
#include <algorithm>
#include <filesystem>

#include "cli/training_fixture.h"

namespace narrowgauge::testing_cli::kept_ranges_test {
namespace {

namespace fs = std::filesystem;
using testing_files::read_file;
using testing_files::write_file;

// Trains on more images than ranges are of, so that it matters which are drawn.
class KeptRanges : public Training {
 protected:
  static constexpr int images = 600;

  static void SetUpTestSuite() {
    Training::SetUpTestSuite();
    write_images(data());
    done(keeping("run", {"--augment", "crop"}));
  }
  static void write_images(const std::string& folder) {
    write_file(folder + "/train-images-idx3-ubyte", tiny_images(images));
    write_file(folder + "/train-labels-idx1-ubyte", tiny_labels(images));
  }
  static std::string file(const std::string& name) { return *folder_ / name; }
  static Words keeping(const std::string& name, const Words& more = {}) {
    Words words = quiet_json({"--model", "lenet", "--epochs", "1", "--keep-ranges"});
    words.insert(words.end(), {"--output", file(name)});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string ranges_of(const std::string& run, const std::string& link = "latest") {
    return file(run) + '/' + link + "/ranges.json";
  }
  // A copy of the run that a test may harm.
  static std::string copied(const std::string& name) {
    fs::copy(file("run"), file(name),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    return file(name);
  }
  static Words convert(const std::string& run, const Words& more) {
    Words words{"convert", run, "--precision", "int8", "--json", "--no-cache"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string engine_of(const std::string& run, const std::string& name, Words more) {
    more.insert(more.end(), {"--onnx", file(name)});
    done(convert(run, more));
    return read_file(file(name));
  }
  static void expect_refused(const Words& words, int code, const std::string& message) {
    const Result result = testing_cli::run(words);
    EXPECT_EQ(result.code, code) << result.out;
    EXPECT_TRUE(contains(result.err, message)) << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
  }
};

TEST_F(KeptRanges, make_the_engine_that_the_same_file_makes) {
  const std::string engine = engine_of(file("run"), "kept.onnx", {});
  EXPECT_EQ(engine, engine_of(file("run"), "file.onnx", {"--ranges", ranges_of("run")}));
  const Json bill = done(convert(file("run"), {}));
  EXPECT_EQ(bill.at("calibration_samples"), 256);
  EXPECT_TRUE(contains(bill.at("ranges"), "ranges.json")) << bill.at("ranges");
  EXPECT_EQ(bill.at("validation_samples"), tiny_test);
  const Result text = run({"convert", file("run"), "--precision", "int8"});
  EXPECT_TRUE(contains(text.out, "from 256 samples of the training, in ")) << text.out;
}

TEST_F(KeptRanges, are_those_that_convert_gathers_from_images_that_are_not_augmented) {
  const std::string gathered = file("gathered.json");
  const std::string engine =
      engine_of(file("run"), "gathered.onnx", {"--calibrate", data(), "--keep-ranges", gathered});
  EXPECT_EQ(read_file(ranges_of("run")), read_file(gathered));
  EXPECT_EQ(engine, engine_of(file("run"), "kept.onnx", {}));
}

TEST_F(KeptRanges, are_of_images_that_the_seed_of_the_run_draws) {
  done(keeping("seeded", {"--seed", "2"}));
  const std::string gathered = file("by_seed_1.json");
  done(convert(file("seeded"), {"--calibrate", data(), "--keep-ranges", gathered}));
  EXPECT_NE(read_file(ranges_of("seeded")), read_file(gathered));
  EXPECT_TRUE(contains(done(convert(file("seeded"), {})).at("ranges"), "ranges.json"));
}

TEST_F(KeptRanges, are_of_the_best_checkpoint_too) {
  done(keeping("two", {"--epochs", "4", "--watch", "accuracy", "--keep-best"}));
  ASSERT_NE(fs::canonical(file("two/best")), fs::canonical(file("two/latest")));
  EXPECT_NE(read_file(ranges_of("two", "best")), read_file(ranges_of("two")));
  for (const char* link : {"/best", "/latest"})
    EXPECT_TRUE(contains(done(convert(file("two") + link, {})).at("ranges"), "ranges.json"))
        << link;
}

TEST_F(KeptRanges, are_added_to_a_run_that_has_none) {
  done(quiet_json({"--model", "lenet", "--epochs", "1", "--output", file("later")}));
  EXPECT_FALSE(fs::exists(ranges_of("later")));
  const Json result = done({"train", "--resume", file("later"), "--keep-ranges", "--json", "-q"});
  EXPECT_EQ(result.at("calibration_samples"), 256);
  EXPECT_TRUE(fs::exists(ranges_of("later")));
}

TEST_F(KeptRanges, stand_in_for_data_that_are_gone) {
  const std::string engine = engine_of(file("run"), "there.onnx", {});
  const std::string moved = file("moved");
  fs::rename(data(), moved);
  const Result without = run(convert(file("run"), {"--onnx", file("gone.onnx")}));
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_EQ(line_count(without.err), 1) << without.err;
  EXPECT_TRUE(contains(without.err, "the accuracy is not measured")) << without.err;
  EXPECT_EQ(Json::parse(last_line(without.out)).at("validation_samples"), 0);
  EXPECT_EQ(read_file(file("gone.onnx")), engine);
  const std::string bare = copied("bare");
  fs::remove(ranges_of("bare"));
  expect_refused(convert(bare, {}), 4,
                 "--calibrate names other samples, and `train --keep-ranges`");
  EXPECT_EQ(done(convert(bare, {"--calibrate", moved})).at("calibration_samples"), 256);
  fs::rename(moved, data());
}

TEST_F(KeptRanges, are_left_where_others_are_asked_for) {
  const std::string run = copied("others");
  write_file(ranges_of("others"), "not read");
  EXPECT_EQ(done(convert(run, {"--samples", "8"})).at("calibration_samples"), 8);
  EXPECT_EQ(done(convert(run, {"--plain"})).at("calibration_samples"), 256);
  EXPECT_EQ(done(convert(run, {"--calibrate", data()})).at("calibration_samples"), 256);
  EXPECT_EQ(done({"convert", run, "--precision", "bf16", "--json"}).at("precision"), "bf16");
}

TEST_F(KeptRanges, that_are_damaged_or_of_another_network_are_refused) {
  const std::string run = copied("harmed"), path = fs::canonical(run + "/latest") / "ranges.json";
  const std::string whole = read_file(path);
  for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2)}) {
    write_file(path, text);
    expect_refused(convert(run, {}), 4, "ranges.json: is damaged");
  }
  done(keeping("other", {"--seed", "3"}));
  write_file(path, read_file(ranges_of("other")));
  expect_refused(convert(run, {}), 4, "ranges.json: is of another network");
}

TEST_F(KeptRanges, that_are_interrupted_leave_the_run) {
  // A network that takes a while for its samples, so that it is still at them when it is
  // interrupted.
  const Words words{"train", "--model",       "resnet20", "--data",
                    data(),  "--batch",       "32",       "--epochs",
                    "1",     "--keep-ranges", "--output", file("interrupted")};
  const Result result = run(words, {.columns = 80, .interrupt_at = "ranges for int8"});
  EXPECT_EQ(result.code, 130) << result.out;
  EXPECT_TRUE(contains(result.out, "interrupted: no ranges are kept")) << result.out;
  EXPECT_TRUE(contains(result.out, "test accuracy")) << result.out;
  EXPECT_FALSE(fs::exists(ranges_of("interrupted")));
  EXPECT_EQ(done(convert(file("interrupted"), {})).at("calibration_samples"), 256);
}

TEST_F(KeptRanges, need_a_folder_and_a_network_that_is_not_quantized) {
  const auto words = [](const Words& more) {
    Words all = train({"--keep-ranges"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  expect_refused(words({}), 2, "--keep-ranges: needs --output or --resume");
  expect_refused(words({"--compare", "off,bf16"}), 2,
                 "--keep-ranges: cannot be added to --compare");
  engine_of(file("run"), "quantized.onnx", {});
  expect_refused({"train", file("quantized.onnx"), "--data", data(), "--output", file("none"),
                  "--keep-ranges", "-q"},
                 2, "is quantized already, its own ranges stay");
}

}  // namespace
}  // namespace narrowgauge::testing_cli::kept_ranges_test
