// SPDX-License-Identifier: Apache-2.0
// The autoencoder in the program: pictures without classes and sets in memory, learnt, evaluated
// and given again.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/json_answer.h"
#include "cli/program.h"
#include "cli/tiny_data.h"
#include "io/files.h"
#include "io/images/encode_png.h"
#include "io/pictures/image.h"

namespace narrowgauge::testing_cli::autoencoder_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;
using testing_json::Json;

// Grey pictures of 32x32 with a bright bar across, or, of another kind, along.
std::string bars(const std::string& folder, int count, bool along) {
  std::filesystem::create_directories(folder);
  for (int i = 0; i < count; ++i) {
    Tensor picture(DType::u8, {32, 32, 1});
    const int first = 2 + (i * 5) % 24;
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x) {
        const int at = along ? x : y;
        picture.set(y * 32 + x, at >= first && at < first + 6 ? 220 : 25);
      }
    write_file(folder + "/p" + std::to_string(100 + i) + ".png", encode_png(picture));
  }
  return folder;
}

std::vector<std::string> lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string line; std::getline(in, line);) found.push_back(line);
  return found;
}

double mean_error(const std::string& run_folder, const std::string& pictures) {
  const Result result = run({"predict", run_folder, pictures, "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  double sum = 0;
  const std::vector<std::string> all = lines(result.out);
  for (const std::string& line : all) sum += Json::parse(line).at("error").get<double>();
  return sum / static_cast<double>(all.size());
}

TEST(autoencoder, learns_pictures_without_classes_and_tells_others_from_them) {
  const TemporaryFolder folder;
  const std::string data = bars(folder / "across", 40, false), run_folder = folder / "run";
  const Json trained =
      done({"train", "--model", "autoencoder", "--data", data, "--image", "1x32x32", "--epochs",
            "30", "--batch", "8", "--output", run_folder, "--json", "--quiet"});
  EXPECT_LT(trained.at("test_loss"), 0.3) << trained.dump();
  EXPECT_TRUE(trained.at("test_accuracy").is_null()) << trained.dump();
  const Json evaluated = done({"evaluate", run_folder, "--metrics", "mse,mae", "--json"});
  EXPECT_NEAR(evaluated.at("test_loss").get<double>(), evaluated.at("test_mse").get<double>(),
              1e-4);
  EXPECT_LT(2 * mean_error(run_folder, data),
            mean_error(run_folder, bars(folder / "along", 8, true)));
  const std::string made = folder / "made";
  ASSERT_EQ(run({"predict", run_folder, "--count", "2", "--save", made, "--quiet"}).code, 0);
  int pictures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(made)) {
    ++pictures;
    const std::string name = entry.path().filename().string();
    const Tensor again = read_image(entry.path().string(), ImageColours::grey);
    const Tensor given = read_image(data + "/" + name, ImageColours::grey);
    ASSERT_EQ(again.dims(), given.dims());
    double difference = 0;
    for (std::int64_t i = 0; i < given.size(); ++i)
      difference += std::abs(again.at(i) - given.at(i));
    EXPECT_LT(difference / static_cast<double>(given.size()), 30) << name;
  }
  EXPECT_EQ(pictures, 2);
  const Result arrays = run({"predict", run_folder, "--save", folder / "made.npz"});
  EXPECT_EQ(arrays.code, 2);
  EXPECT_NE(arrays.err.find("expected a folder for pictures, or a table (.csv)"),
            std::string::npos);
}

TEST(autoencoder, learns_sets_in_memory_whose_labels_do_not_matter) {
  const TemporaryFolder folder;
  const std::string run_folder = folder / "run", table = folder / "errors.csv";
  const Json trained = done({"train", "--model", "autoencoder", "--data",
                             write_tiny_data(folder / "tiny", 16), "--epochs", "30", "--batch",
                             "32", "--amp", "bf16", "--output", run_folder, "--json", "--quiet"});
  EXPECT_LT(trained.at("test_loss"), 0.3) << trained.dump();
  ASSERT_EQ(run({"predict", run_folder, "--count", "3", "--save", table, "--quiet"}).code, 0);
  EXPECT_TRUE(read_file(table).starts_with("sample,error\n0,0.")) << read_file(table);
  EXPECT_EQ(lines(read_file(table)).size(), 4U);
}

TEST(autoencoder, others_want_classes) {
  const TemporaryFolder folder;
  const Result result = run({"train", "--model", "lenet", "--data", bars(folder / "b", 4, false)});
  EXPECT_EQ(result.code, 4);
  EXPECT_NE(result.err.find("expected a folder of pictures or sounds for each of two or more "
                            "classes, found none"),
            std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace narrowgauge::testing_cli::autoencoder_test
