// SPDX-License-Identifier: Apache-2.0
// What commands write never takes the place of what they read, nor of a part of a checkpoint; and
// what fails leaves a file as it was.
#include <filesystem>

#include "cli/training_fixture.h"
#include "io/picture_folder.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::testing_cli::output_test {
namespace {

namespace fs = std::filesystem;
using testing_files::png_of;
using testing_files::read_file;
using testing_files::write_file;

class Output : public Training {
 protected:
  static std::string file(const std::string& name) { return *folder_ / name; }
  static std::string trained() {
    const std::string folder = file("run");
    if (!fs::exists(folder)) done(quiet_json({"--output", folder}));
    return folder;
  }
  // Refused with such a message, and the file is as it was.
  static void expect_kept(const Words& words, const std::string& path, const std::string& message) {
    const std::string before = read_file(path);
    const Result result = run(words);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_TRUE(contains(result.err, message)) << result.err;
    EXPECT_EQ(line_count(result.err), 1);
    EXPECT_EQ(read_file(path), before);
  }
};

TEST_F(Output, is_not_what_is_read) {
  const std::string model = file("m.onnx"), input = file("x.npz"), picture = file("p.png");
  ASSERT_EQ(run({"export", trained(), "-o", model}).code, 0);
  expect_kept({"export", model, "-o", model}, model, "--onnx: " + model + " is what is read");
  expect_kept({"convert", model, "--precision", "f32", "-o",
               file("../") + fs::path(file("")).parent_path().filename().string() + "/m.onnx"},
              model, "is what is read; name another file");
  write_npz(input, std::vector<NamedTensor>{{"input", Tensor(DType::f32, {1, 1, 8, 8})}});
  expect_kept({"run", model, "--input", input, "--output", input}, input, "is what is read");
  write_file(picture, png_of(0, 1, 8, 8));
  expect_kept({"predict", trained(), picture, "--save", picture}, picture, "is what is read");
  fs::create_symlink(picture, file("link.csv"));
  expect_kept({"predict", trained(), picture, "--save", file("link.csv")}, picture,
              "is what is read");
}

TEST_F(Output, is_no_part_of_a_checkpoint) {
  const std::string plan = trained() + "/plan.txt", weights = trained() + "/model.safetensors";
  expect_kept({"explain", trained(), "--save-plan", plan}, plan, "is of a checkpoint");
  expect_kept({"export", trained(), "-o", weights}, weights, "is of a checkpoint");
  expect_kept({"report", trained(), "--no-measure", "-o", trained() + "/latest/run.json"},
              trained() + "/run.json", "is of a checkpoint");
  EXPECT_EQ(run({"evaluate", trained()}).code, 0);
}

TEST_F(Output, of_pictures_goes_to_no_folder_that_is_read) {
  const std::string data = file("shapes"), run_folder = file("parts");
  fs::create_directories(data);
  for (std::uint32_t i = 0; i < 12; ++i)
    write_file(data + "/" + std::to_string(100 + i) + ".png", png_of(i % 4, i, 16, 16));
  ASSERT_EQ(run({"train", "--model", "autoencoder", "--data", data, "--image", "1x16x16",
                 "--epochs", "1", "--batch", "4", "--output", run_folder, "--quiet"})
                .code,
            0);
  const std::string first = data + "/100.png";
  for (const std::string& place : {data, data + "/", data + "/within"})
    expect_kept({"predict", run_folder, first, "--save", place}, first, "holds what is read");
  fs::copy(data, file("elsewhere"));
  const std::string other = file("elsewhere/100.png");
  expect_kept({"predict", run_folder, other, "--save", file("elsewhere")}, other,
              "holds what is read");
  EXPECT_EQ(run({"predict", run_folder, other, "--save", file("made"), "--quiet"}).code, 0);
  EXPECT_TRUE(fs::exists(file("made/100.png")));
}

TEST_F(Output, of_a_command_that_fails_is_the_file_that_was_there) {
  const std::string saved = file("saved.csv");
  write_file(saved, "of an earlier run");
  EXPECT_NE(run({"predict", trained(), file("nowhere.png"), "--save", saved}).code, 0);
  EXPECT_NE(run(train({"--lr", "1e30", "--clip", "0", "--profile", saved})).code, 0);
  EXPECT_NE(run({"export", "--model", "no such", "-o", saved}).code, 0);
  EXPECT_NE(run({"report", file("nowhere"), "-o", saved}).code, 0);
  EXPECT_EQ(read_file(saved), "of an earlier run");
}

}  // namespace
}  // namespace narrowgauge::testing_cli::output_test
