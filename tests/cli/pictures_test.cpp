// SPDX-License-Identifier: Apache-2.0
// A folder of pictures: looked at, trained on, evaluated, predicted.
#include <gtest/gtest.h>

#include <sstream>

#include "cli/json_answer.h"
#include "cli/program.h"
#include "io/picture_folder.h"
#include "io/small_images.h"
#include "narrowgauge/npz.h"
#include "support/json.h"

namespace narrowgauge::testing_cli::pictures_test {
namespace {

using testing_files::picture_classes;
using testing_files::png_of;
using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;
using testing_files::write_pictures;
using testing_json::Json;

class Pictures : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    write_pictures(data(), 40);
    const Result result = run(train({"--output", run_folder(), "--quiet"}));
    ASSERT_EQ(result.code, 0) << result.err;
  }
  static void TearDownTestSuite() { delete folder_; }
  static std::string data() { return *folder_ / "photos"; }
  static std::string run_folder() { return *folder_ / "run"; }

  static Words train(const Words& more) {
    Words words{"train",     "--model", "lenet",    "--data", data(),    "--image", "3x16x16",
                "--augment", "crop(1)", "--epochs", "4",      "--batch", "16"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string refused(const Words& words, int code) {
    const Result result = run(words);
    EXPECT_EQ(result.code, code) << result.out;
    return result.err;
  }
  static std::vector<Json> lines(const std::string& text) {
    std::vector<Json> found;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) found.push_back(Json::parse(line));
    return found;
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(Pictures, are_learnt_and_evaluated_on_those_held_back) {
  const Json evaluated = done({"evaluate", run_folder(), "--json"});
  EXPECT_EQ(evaluated.at("test_samples"), 32);
  EXPECT_GT(evaluated.at("test_accuracy"), 0.9);
}

TEST_F(Pictures, a_run_of_them_is_explained_by_its_own_plan) {
  const Json all = done({"explain", run_folder(), "--json"});
  EXPECT_EQ(all.at("narrow"), "f32");
  EXPECT_EQ(all.at("nodes").at(0).at("outputs").at(0), "f32[N,3,16,16]");
  const Result narrow = run({"explain", run_folder(), "--amp", "bf16", "--node", "conv1"});
  EXPECT_EQ(narrow.code, 0) << narrow.err;
  EXPECT_NE(narrow.out.find("bf16"), std::string::npos) << narrow.out;
  EXPECT_NE(refused({"explain", run_folder(), "--classes", "3"}, 2).find("is a run, which has"),
            std::string::npos);
  EXPECT_NE(refused({"explain", data()}, 4).find("it is no run folder"), std::string::npos);
}

TEST_F(Pictures, of_another_folder_are_evaluated_as_a_whole_by_the_names_of_their_classes) {
  const std::string other = *folder_ / "other";
  write_pictures(other, 5, 500);
  std::filesystem::remove_all(other + "/north east");
  const Json evaluated = done({"evaluate", run_folder(), "--data", other, "--json"});
  EXPECT_EQ(evaluated.at("test_samples"), 15);
  EXPECT_GT(evaluated.at("test_accuracy"), 0.8);
  std::filesystem::rename(other + "/south east", other + "/south eest");
  EXPECT_NE(refused({"evaluate", run_folder(), "--data", other}, 4)
                .find("has a class 'south eest', and the run was trained on others; did you mean "
                      "south east?"),
            std::string::npos);
}

TEST_F(Pictures, without_labels_become_a_table) {
  const std::string inputs = *folder_ / "inputs", table = *folder_ / "table.csv";
  std::filesystem::create_directories(inputs);
  for (std::size_t label = 0; label < 4; ++label)
    write_file(inputs + "/" + std::to_string(label) + ",x.png", png_of(label, 900));
  write_file(inputs + "/5.png", png_of(0, 1).substr(0, 60));
  const Result result = run({"predict", run_folder(), inputs, "--json", "--save", table});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("5.png: the PNG cannot be read"), std::string::npos);
  const std::vector<Json> found = lines(result.out);
  ASSERT_EQ(found.size(), 4U);
  std::istringstream rows(read_file(table));
  std::string row;
  std::getline(rows, row);
  EXPECT_EQ(row, "file,predicted,share,label");
  for (std::size_t label = 0; label < 4; ++label) {
    EXPECT_EQ(found[label].at("predicted_name"), picture_classes[label]);
    EXPECT_TRUE(found[label].at("label").is_null());
    std::getline(rows, row);
    EXPECT_TRUE(row.starts_with("\"" + inputs + "/" + std::to_string(label) + ",x.png\"," +
                                picture_classes[label] + ","))
        << row;
    EXPECT_TRUE(row.ends_with(","));
  }
  refused({"predict", run_folder(), inputs, "--strict-data", "--quiet"}, 4);
  refused({"predict", run_folder(), *folder_ / "none"}, 4);
  refused({"predict", run_folder(), inputs, "--data", data()}, 2);
  EXPECT_EQ(lines(run({"predict", run_folder(), inputs, "--count", "2", "--json"}).out).size(), 2U);
}

TEST_F(Pictures, behind_a_damaged_one_keep_their_names_numbers_and_outputs) {
  const std::string inputs = *folder_ / "gaps", arrays = *folder_ / "gaps.npz";
  std::filesystem::create_directories(inputs);
  for (std::size_t i = 0; i < 12; ++i) {
    const std::string picture = png_of(i % 4, 900 + static_cast<std::uint32_t>(i));
    write_file(inputs + "/" + std::to_string(10 + i) + ".png",
               i % 5 == 0 ? picture.substr(0, 60) : picture);
  }
  const Result result =
      run({"predict", run_folder(), inputs, "--json", "--batch", "3", "--save", arrays});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("left out: 3 of 12 pictures that cannot be read"), std::string::npos)
      << result.err;
  const std::vector<Json> found = lines(result.out);
  ASSERT_EQ(found.size(), 9U);
  const Tensor samples = read_npz(arrays, "samples"), predicted = read_npz(arrays, "predicted");
  for (std::size_t row = 0; row < 9; ++row) {
    const auto sample = found[row].at("sample").get<std::int64_t>();
    EXPECT_NE(sample % 5, 0);
    EXPECT_EQ(found[row].at("file"), inputs + "/" + std::to_string(10 + sample) + ".png");
    EXPECT_EQ(found[row].at("predicted"), sample % 4);
    EXPECT_EQ(samples.at(static_cast<std::int64_t>(row)), static_cast<double>(sample));
    EXPECT_EQ(predicted.at(static_cast<std::int64_t>(row)), static_cast<double>(sample % 4));
  }
}

TEST_F(Pictures, are_seen_as_their_cameras_were_held) {
  // A JPEG of 5 x 3 pixels whose note says that it is to be turned.
  const std::string file = testing_support::small_image("jpeg_in_colours");
  const std::string note = std::string(
      "\xff\xe1\0\x22"
      "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0",
      36);
  const std::string turned = *folder_ / "turned";
  for (const char* label : {"a", "b"}) {
    std::filesystem::create_directories(turned + "/" + label);
    for (int i = 0; i < 5; ++i)
      write_file(turned + "/" + label + "/" + std::to_string(i) + ".jpg",
                 file.substr(0, 2) + note + file.substr(2) + std::string(1, static_cast<char>(i)));
  }
  const Result look = run({"data", turned});
  EXPECT_NE(look.out.find("sizes           3x5\n"), std::string::npos) << look.out;
  EXPECT_EQ(run({"predict", run_folder(), turned, "--quiet"}).code, 0);
}

TEST_F(Pictures, that_are_labelled_are_predicted_with_their_files) {
  const Result result = run({"predict", run_folder(), "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  std::int64_t right = 0;
  const std::vector<Json> found = lines(result.out);
  for (const Json& line : found) {
    right += line.at("predicted") == line.at("label");
    const std::string file = line.at("file"), label = line.at("label_name");
    EXPECT_NE(file.find("/" + label + "/"), std::string::npos);
  }
  const Json evaluated = done({"evaluate", run_folder(), "--json"});
  EXPECT_NEAR(static_cast<double>(right) / 32, evaluated.at("test_accuracy"), 1e-9);
}

TEST_F(Pictures, are_the_same_training_whatever_the_threads_and_after_a_resume) {
  const auto sha = [](const Words& words) -> std::string {
    return done(words).at("weights_sha256");
  };
  const Words base{"--json", "--quiet", "--deterministic", "--augment",
                   "resized_crop(0.5), flip(0.1), mixup(0.1)"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), base.begin(), base.end());
    return train(more);
  };
  const std::string whole = sha(with({"--threads", "1"}));
  EXPECT_EQ(sha(with({"--threads", "2"})), whole);
  const std::string half = *folder_ / "half";
  Result result = run(with({"--output", half, "--checkpoint-every", "9"}));
  ASSERT_EQ(result.code, 0) << result.err;
  std::filesystem::remove_all(half + "/checkpoints/000004");
  EXPECT_EQ(sha({"train", "--resume", half + "/checkpoints/000003", "--output", *folder_ / "rest",
                 "--json", "--quiet"}),
            whole);
}

TEST_F(Pictures, a_run_goes_on_with_the_same_folder_only) {
  const std::string copy = *folder_ / "copy";
  std::filesystem::copy(data(), copy, std::filesystem::copy_options::recursive);
  const Words resume{"train",    "--resume",      run_folder(), "--epochs", "5",
                     "--output", *folder_ / "on", "--quiet",    "--data",   copy};
  EXPECT_EQ(run(resume).code, 0);
  write_file(copy + "/north east/new.png", png_of(0, 1234));
  EXPECT_NE(refused(resume, 4).find("is of another training"), std::string::npos);
  EXPECT_NE(refused({"train", "--resume", run_folder(), "--image", "3x20x20"}, 2)
                .find("--image: 3x20x20, and the run was trained on 3x16x16"),
            std::string::npos);
}

TEST_F(Pictures, that_are_damaged_are_counted_or_refused) {
  const std::string bad = *folder_ / "bad";
  write_pictures(bad, 10);
  write_file(bad + "/south west/p100.png", png_of(3, 0).substr(0, 80));
  write_file(bad + "/south west/p101.png", "no picture");
  const Words words{"train",   "--model",      "mlp", "--data",   bad, "--image",
                    "1x8x8",   "--batch",      "8",   "--epochs", "1", "--json",
                    "--quiet", "--test-share", "0.3"};
  const Json result = done(words);
  EXPECT_EQ(result.at("damaged_pictures"), 2);
  EXPECT_TRUE(result.contains("input_share"));
  Words strict = words;
  strict.push_back("--strict-data");
  EXPECT_NE(refused(strict, 4).find("p10"), std::string::npos);
}

TEST_F(Pictures, are_described_with_what_is_odd) {
  const std::string odd = *folder_ / "odd";
  write_pictures(odd, 5);
  write_file(odd + "/north east/wide.png", png_of(0, 50, 10, 40));
  write_file(odd + "/north west/again.png", png_of(0, 50, 10, 40));
  write_file(odd + "/north west/broken.png", "nothing");
  write_file(odd + "/south east/read.me", "");
  const std::string sheet = *folder_ / "sheet.html";
  const Result result = run({"data", odd, "--sheet", sheet});
  ASSERT_EQ(result.code, 0) << result.err;
  for (const char* text :
       {"23: ", "40x10 to 32x24 (2 sizes), most often 32x24", "PNG, RGB (22)",
        "1 cannot be read:\n", "broken.png: expected a picture", "1 have the bytes of another",
        "1 in two classes", "1 are no pictures by their names:\n"})
    EXPECT_NE(result.out.find(text), std::string::npos) << text << "\n" << result.out;
  EXPECT_NE(read_file(sheet).find("<h2>south west (5)</h2>"), std::string::npos);
  const Json found = done({"data", odd, "--json"});
  EXPECT_EQ(found.at("classes").size(), 4U);
  EXPECT_EQ(found.at("copies_of_other_class"), 1);
  EXPECT_EQ(run({"data", odd, "--sheet", *folder_ / "sheet.png", "--json"}).code, 0);
  EXPECT_TRUE(read_file(*folder_ / "sheet.png").starts_with("\x89PNG"));
  refused({"data", odd, "--sheet", *folder_ / "sheet.pdf"}, 2);
  refused({"data", *folder_ / "none"}, 4);
  refused({"data", odd, "--test-share", "2"}, 2);
  EXPECT_EQ(done({"data", "glyphs", "--json"}).at("classes").at(0).at("name"), "line");
}

TEST_F(Pictures, changes_and_sizes_that_make_no_sense_are_refused) {
  EXPECT_NE(refused(train({"--augment", "flop"}), 2).find("did you mean flip?"), std::string::npos);
  refused(train({"--augment", "crop(-2)"}), 2);
  refused(train({"--image", "3x16"}), 2);
  refused(train({"--image", "2x16x16"}), 2);
  refused(train({"--image", "3x4x4"}), 3);
  for (const char* share : {"1.5", "1", "0"}) refused(train({"--test-share", share}), 2);
}

}  // namespace
}  // namespace narrowgauge::testing_cli::pictures_test
