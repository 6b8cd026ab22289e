// SPDX-License-Identifier: Apache-2.0
// Folders of sounds in the program: looked at, learnt, predicted.
#include <gtest/gtest.h>

#include "cli/json_answer.h"
#include "cli/program.h"
#include "io/files.h"
#include "io/small_sounds.h"

namespace narrowgauge::testing_cli::sounds_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::tone;
using testing_files::wav_of;
using testing_files::write_file;
using testing_json::Json;

// Tones below and above 1 kHz, of several lengths and rates.
std::string write_tones(const std::string& folder, int of_each) {
  for (const auto& [name, hertz] : {std::pair<const char*, double>{"high", 1700}, {"low", 300}}) {
    std::filesystem::create_directories(folder + "/" + name);
    for (int i = 0; i < of_each; ++i) {
      const int rate = i % 2 == 0 ? 16000 : 22050;
      const double seconds = 0.3 + 0.02 * (i % 5);
      write_file(folder + "/" + name + "/" + std::to_string(100 + i) + ".wav",
                 wav_of(tone(hertz * (1 + 0.02 * i), seconds, rate), rate));
    }
  }
  return folder;
}

TEST(sounds_in_the_program, are_looked_at_learnt_and_predicted) {
  const TemporaryFolder folder;
  const std::string data = write_tones(folder / "tones", 20), run_folder = folder / "run";
  const Result look = run({"data", data, "--sheet", folder / "sheet.png"});
  EXPECT_EQ(look.code, 0) << look.err;
  EXPECT_NE(look.out.find("WAV"), std::string::npos) << look.out;
  const Json trained = done({"train", "--model", "lenet", "--data", data, "--epochs", "4",
                             "--batch", "8", "--output", run_folder, "--json", "--quiet"});
  EXPECT_GT(trained.at("test_accuracy"), 0.8) << trained.dump();
  const Json record = Json::parse(read_file(run_folder + "/run.json"));
  EXPECT_EQ(record.at("images").at("height"), 64);
  EXPECT_EQ(record.at("images").at("width"), 32);  // the usual length: 0.34 s
  const Result predicted = run({"predict", run_folder, data + "/high", "--json"});
  ASSERT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_EQ(Json::parse(last_line(predicted.out)).at("predicted_name"), "high");
}

TEST(sounds_in_the_program, that_are_damaged_are_left_out_or_end_the_training) {
  const TemporaryFolder folder;
  const std::string data = write_tones(folder / "tones", 6);
  write_file(data + "/low/100.wav", read_file(data + "/low/100.wav").substr(0, 200));
  write_file(data + "/high/101.wav", wav_of({}, 16000));
  Words words{"train",    "--model", "lenet",   "--data", data,
              "--epochs", "1",       "--batch", "4",      "--quiet"};
  const Result lenient = run(words);
  EXPECT_EQ(lenient.code, 0) << lenient.err;
  EXPECT_NE(lenient.err.find("the file ends too early"), std::string::npos) << lenient.err;
  EXPECT_NE(lenient.err.find("101.wav: the WAV cannot be read (it has no samples); left out"),
            std::string::npos)
      << lenient.err;
  EXPECT_NE(run({"data", data}).out.find("101.wav: it has no samples"), std::string::npos)
      << run({"data", data}).out;
  words.push_back("--strict-data");
  EXPECT_EQ(run(words).code, 4);
}

}  // namespace
}  // namespace narrowgauge::testing_cli::sounds_test
