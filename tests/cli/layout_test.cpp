// SPDX-License-Identifier: Apache-2.0
// Images in arrays with their channels last: recognised, told by a flag, and the same in all that
// is done with a run.
#include <gtest/gtest.h>

#include "cli/json_answer.h"
#include "cli/program.h"
#include "io/files.h"
#include "narrowgauge/data.h"
#include "narrowgauge/npz.h"
#include "support/json.h"

namespace narrowgauge::testing_cli::layout_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;
using testing_json::Json;

// Images [N,H,W,C] whose class is the quadrant that is bright.
std::string write_images(const std::string& path, std::int64_t count, std::int64_t height,
                         std::int64_t width, std::int64_t channels, bool first = false) {
  Tensor x(DType::u8, {count, height, width, channels}), y(DType::i64, {count});
  std::uint32_t noise = 1;
  for (std::int64_t n = 0; n < count; ++n) {
    y.set(n, static_cast<double>(n % 4));
    for (std::int64_t i = 0; i < height * width * channels; ++i) {
      const std::int64_t row = i / channels / width * 2 / height;
      const std::int64_t column = i / channels % width * 2 / width;
      noise = noise * 1664525 + 1013904223;
      x.set(n * height * width * channels + i,
            (row * 2 + column == n % 4 ? 160 : 0) + static_cast<double>(noise >> 26));
    }
  }
  if (first) x = channels_first(x);
  write_npz(path, std::vector<NamedTensor>{{"x", x}, {"y", y}});
  return path;
}

Words train(const std::string& data, const Words& more) {
  Words words{"train", "--model", "lenet", "--data", data, "--epochs", "3", "--batch", "16"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(layout, with_channels_last_is_recognised_told_and_the_same_for_a_run) {
  const TemporaryFolder folder;
  const std::string last = write_images(folder / "last.npz", 200, 20, 24, 3);
  const std::string first = write_images(folder / "first.npz", 200, 20, 24, 3, true);
  Json shas[2];
  for (const bool is_first : {false, true}) {
    const std::string run_folder = folder / (is_first ? "b" : "a");
    const Result result = run(train(
        is_first ? first : last, {"--output", run_folder, "--json", "--quiet", "--deterministic"}));
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(contains(result.err,
                       "images u8[160,20,24,3] are taken as [N,H,W,C], of 3x20x24; "
                       "nchw takes them as 20x24x3"),
              !is_first)
        << result.err;
    shas[is_first] = Json::parse(last_line(result.out)).at("weights_sha256");
    const Json images = Json::parse(read_file(run_folder + "/run.json")).at("images");
    EXPECT_EQ(images.at("channels"), 3);
    EXPECT_EQ(images.at("height"), 20);
    // Either layout is the same data to the run.
    const Json a = done({"evaluate", run_folder, "--data", last, "--json"});
    const Json b = done({"evaluate", run_folder, "--data", first, "--json"});
    EXPECT_EQ(a.at("test_loss"), b.at("test_loss"));
    EXPECT_EQ(run({"predict", run_folder, "--count", "3"}).code, 0);
  }
  EXPECT_EQ(shas[0], shas[1]);
  const Result look = run({"data", last, "--sheet", folder / "sheet.png"});
  EXPECT_EQ(look.code, 0);
  EXPECT_TRUE(contains(look.err, "are taken as [N,H,W,C], of 3x20x24")) << look.err;
}

TEST(layout, of_the_flag_is_kept_with_the_run) {
  const TemporaryFolder folder;
  const std::string data = write_images(folder / "d.npz", 120, 20, 24, 1);
  const std::string run_folder = folder / "run";
  const Words as_said = train(data, {"--layout", "nchw", "--output", run_folder, "--quiet"});
  Words mlp = as_said;
  mlp[2] = "mlp";
  const Result result = run(mlp);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const Json record = Json::parse(read_file(run_folder + "/run.json"));
  EXPECT_EQ(record.at("settings").at("layout"), "nchw");
  EXPECT_EQ(record.at("images").at("channels"), 20);
  EXPECT_EQ(run({"evaluate", run_folder}).code, 0);
  EXPECT_EQ(run({"train", "--resume", run_folder, "--epochs", "4", "--quiet"}).code, 0);
  EXPECT_EQ(run(train(data, {"--layout", "hwc"})).code, 2);
  write_file(folder / "t.csv", "a,b,y\n1,2,0\n2,3,1\n3,4,0\n4,5,1\n5,6,0\n6,7,1\n");
  const Result table = run(train(folder / "t.csv", {"--layout", "nhwc"}));
  EXPECT_EQ(table.code, 4);
  EXPECT_TRUE(contains(table.err, "t.csv has no array of four axes, as images have")) << table.err;
}

TEST(layout, that_is_unclear_is_told) {
  const TemporaryFolder folder;
  const std::string data = write_images(folder / "d.npz", 80, 4, 16, 3);
  Words words = train(data, {"--quiet"});
  words[2] = "mlp";
  const Result result = run(words);
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "are taken as [N,C,H,W], of 4x16x3; nhwc takes them as 3x4x16"))
      << result.err;
  words.insert(words.end(), {"--layout", "nhwc"});
  EXPECT_EQ(run(words).err, "");
}

}  // namespace
}  // namespace narrowgauge::testing_cli::layout_test
