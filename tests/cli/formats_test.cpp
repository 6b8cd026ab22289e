// SPDX-License-Identifier: Apache-2.0
// `narrowgauge formats`: tables, numbers, histograms, raw conversions.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "cli/program.h"
#include "cli/tiny_data.h"
#include "narrowgauge/safetensors.h"
#include "support/json.h"

namespace narrowgauge::testing_cli::formats_test {
namespace {

using testing_files::read_file;
using testing_files::TemporaryFolder;
using testing_files::write_file;
using testing_json::Json;

std::string line_of(const std::string& text, const std::string& beginning) {
  const std::size_t at = text.find("\n" + beginning);
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

Json json_of(Words words) {
  words.insert(words.begin(), "formats");
  words.push_back("--json");
  const Result result = run(words);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(line_count(result.out), 1);
  return Json::parse(result.out);
}

// The entry whose `key` is `name`.
Json entry(const Json& list, const char* key, const std::string& name) {
  for (const Json& candidate : list)
    if (candidate.at(key) == name) return candidate;
  ADD_FAILURE() << "no " << name;
  return {};
}

const Surroundings wide{.variables = {{"COLUMNS", "200"}}};

TEST(formats, are_listed_with_their_ranges) {
  const Result result = run({"formats"}, wide);
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* name : {"f64", "f32", "tf32", "bf16", "f16 ", "f8e4m3fn", "f8e5m2", "f8e4m3fnuz",
                           "f8e5m2fnuz", "f8e8m0", "f4e2m1", "i8", "mxfp4", "nvfp4"})
    EXPECT_TRUE(contains(result.out, std::string("\n") + name)) << name;
  const std::string f16 = line_of(result.out, "f16 ");
  for (const char* part : {"16 (1+5+10)", "65504", "2^-14", "2^-24", "2^-10", "infinity"})
    EXPECT_TRUE(contains(f16, part)) << f16;
  const Json json = json_of({"-f", "f8e4m3fn"});
  EXPECT_EQ(json["formats"].size(), 1U);
  const std::string narrow = line_of(run({"formats"}).out, "f16 ");
  for (const char* part : {"16 (1+5+10)", "65504", "2^-14", "infinity"})
    EXPECT_TRUE(contains(narrow, part)) << narrow;
  EXPECT_EQ(json["formats"][0]["largest"], 448);
  EXPECT_EQ(entry(json["block_formats"], "format", "nvfp4")["bits_per_element"], 4.5);
}

TEST(formats, show_numbers_with_bits_errors_and_neighbours) {
  const Result result =
      run({"formats", "3.14", "65520", "1e-8", "0x1p-24", "inf", "nan", "-1.5"}, wide);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "0|10000|1001001000")) << result.out;
  EXPECT_TRUE(contains(result.out, "0x1p-24 = 5.9604644775390625e-08")) << result.out;
  for (const char* words : {"overflows to infinity", "overflows to NaN", "flushed to zero",
                            "exact, subnormal, 1 of 11 bits", "has no NaN: becomes 6",
                            "has no sign: becomes NaN", "too large: stays at the largest"})
    EXPECT_TRUE(contains(result.out, words)) << words << '\n' << result.out;
  const Json json = json_of({"3.14", "--format", "f16,tf32"});
  const Json f16 = entry(json["numbers"][0]["formats"], "format", "f16");
  EXPECT_EQ(f16["value"], 3.140625);
  EXPECT_EQ(f16["pattern"], "0x4248");
  EXPECT_EQ(f16["below"], 3.138671875);
  EXPECT_EQ(f16["above"], 3.142578125);
  EXPECT_NEAR(f16["error"].get<double>(), 0.000625, 1e-12);
  EXPECT_NEAR(f16["error_in_ulp"].get<double>(), 0.32, 1e-9);
  EXPECT_EQ(entry(json["numbers"][0]["formats"], "format", "tf32")["value"], 3.140625);
}

TEST(formats, take_bit_patterns_and_scales) {
  const Json json = json_of({"f16:0x3c00", "f4e2m1:0b1111", "f8e8m0:0x80"});
  EXPECT_EQ(json["numbers"][0]["value"], 1);
  EXPECT_EQ(json["numbers"][1]["value"], -6);
  EXPECT_EQ(json["numbers"][2]["value"], 2);
  const Json scaled = json_of({"3.14", "--format", "i8", "--scale", "0.1"})["numbers"][0];
  EXPECT_NEAR(scaled["formats"][0]["value"].get<double>(), 3.1, 1e-12);
  EXPECT_EQ(scaled["formats"][0]["bits"], "00011111");
}

struct Refused {
  Words words;
  int code;
  const char* message;
};

TEST(formats, refuse_nonsense_in_one_line) {
  const TemporaryFolder folder;
  write_file(folder / "text", "not a tensor file");
  write_safetensors(folder / "whole", {{{"a", Tensor(DType::i64, {3})}}, {}});
  write_safetensors(folder / "good", {{{"a", Tensor(DType::f32, {3})}}, {}});
  for (const Refused& refused :
       {Refused{{"three"}, 2, "expected a number"}, Refused{{"1.5x"}, 2, "expected a number"},
        Refused{{"f16:"}, 2, "16 bits"}, Refused{{"f16:0x10000"}, 2, "16 bits"},
        Refused{{"f17:0x1"}, 2, "did you mean f16?"}, Refused{{"1", "-f", "f17"}, 2, "f17"},
        Refused{{"1", "--histogram", "x"}, 2, "do not go together"},
        Refused{{"--plot", "x.svg"}, 2, "need --histogram"},
        Refused{{"--scale", "2"}, 2, "--scale needs a number"},
        Refused{{"--histogram", folder / "nothing"}, 4, "nothing"},
        Refused{{"--histogram", folder / "text"}, 4, "text"},
        Refused{{"--histogram", folder / "whole"}, 4, "floating-point"},
        Refused{{"--histogram", folder / "good", "--batch", "3"}, 2, "is a file"},
        Refused{{"--histogram", folder / "good", "-f", "f8e8m0"}, 2, "no sign"},
        Refused{{"--convert", "f32"}, 2, "f32:f16"},
        Refused{{"--convert", "f32:f15"}, 2, "did you mean f16?"}}) {
    Words words = refused.words;
    words.insert(words.begin(), "formats");
    const Result result = run(words);
    EXPECT_EQ(result.code, refused.code) << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
    EXPECT_TRUE(contains(result.err, refused.message)) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(formats_histogram, counts_the_values_of_a_file) {
  const TemporaryFolder folder;
  const std::vector<float> values{1, 1.0001F, 1e-6F, 1e-9F, 70000, 0, NAN, -2};
  write_safetensors(
      folder / "file",
      {{{"a", Tensor::from<float>({2, 4}, values)}, {"n", Tensor(DType::i64, {5})}}, {}});
  const Json set = json_of({"--histogram", folder / "file"})["sets"][0];
  EXPECT_EQ(set["values"], 8);
  EXPECT_EQ(set["zeros"], 1);
  EXPECT_EQ(set["nans"], 1);
  EXPECT_EQ(set["exponents"]["0"], 2);
  EXPECT_EQ(set["exponents"]["-20"], 1);
  const Json f16 = entry(set["formats"], "format", "f16");
  EXPECT_EQ(f16["exact"], 3);                                       // 1, 0, -2
  EXPECT_EQ(f16["rounded"], 1);                                     // 1.0001
  EXPECT_EQ(f16["subnormal"], 1);                                   // 1e-6
  EXPECT_EQ(f16["flushed"], 1);                                     // 1e-9
  EXPECT_EQ(f16["too_large"], 1);                                   // 70000
  EXPECT_EQ(entry(set["formats"], "format", "mxfp4")["exact"], 1);  // 1; NaN takes all of its row
  const Result text = run(
      {"formats", "--histogram", folder / "file", "--tensors", "--plot", folder / "picture.svg"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "8 values, 1 zeros, 1 NaN")) << text.out;
  EXPECT_TRUE(contains(text.out, "tensors, a: 8 values")) << text.out;
  const std::string picture = read_file(folder / "picture.svg");
  EXPECT_TRUE(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
}

TEST(formats_histogram, has_weights_and_gradients_of_a_run) {
  const TemporaryFolder folder;
  const std::string data = write_tiny_data(folder / "data"), trained = folder / "run";
  ASSERT_EQ(run({"train", "--model", "lenet", "--data", data, "--epochs", "1", "--batch", "32",
                 "--amp", "f16", "--output", trained, "--quiet"})
                .code,
            0);
  const Json json = json_of({"--histogram", trained, "--tensors"});
  ASSERT_EQ(json["sets"].size(), 3U);
  const Json &weights = json["sets"][0], &gradients = json["sets"][1], &scaled = json["sets"][2];
  EXPECT_EQ(weights["name"], "weights");
  EXPECT_EQ(gradients["name"], "gradients");
  EXPECT_EQ(scaled["name"], "gradients x 65536");
  EXPECT_GT(weights["values"], 1000);
  EXPECT_EQ(weights["values"], gradients["values"]);
  EXPECT_EQ(weights["tensors"].size(), gradients["tensors"].size());
  const auto lost = [](const Json& set) {
    const Json f16 = entry(set["formats"], "format", "f16");
    return f16["flushed"].get<std::int64_t>() + f16["subnormal"].get<std::int64_t>();
  };
  EXPECT_GT(lost(gradients), 0);
  EXPECT_LT(lost(scaled), lost(gradients));
  EXPECT_EQ(json_of({"--histogram", trained, "--loss-scale", "8"})["sets"][2]["name"],
            "gradients x 8");
}

std::string converted(const std::string& formats, const std::string& bytes) {
  const TemporaryFolder folder;
  write_file(folder / "in", bytes);
  const std::string command = program_path() + " formats --convert " + formats + " < " +
                              (folder / "in") + " > " + (folder / "out") + " 2>/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return read_file(folder / "out");
}

TEST(formats_convert, changes_raw_numbers) {
  const float values[] = {1, -0.5F, 448, 3.14F};
  std::string bytes(sizeof values, '\0');
  std::memcpy(bytes.data(), values, sizeof values);
  EXPECT_EQ(converted("f32:f8e4m3fn", bytes), "\x38\xb0\x7e\x45");
  EXPECT_EQ(converted("f32:f8e4m3fnuz", bytes), "\x40\xb8\x80\x4d");
  EXPECT_EQ(converted("f8e5m2fnuz:f32", "\x40"), std::string("\x00\x00\x80\x3f", 4));
  EXPECT_EQ(converted("f32:f4e2m1", bytes), "\x92\x57");
  EXPECT_EQ(converted("f32:i4", bytes), std::string("\x01\x37", 2));
  EXPECT_EQ(converted("f32:tf32", bytes).substr(12), std::string("\x00\x00\x49\x40", 4));
  EXPECT_EQ(converted("f16:f64", std::string("\x00\x3c", 2)),
            std::string("\x00\x00\x00\x00\x00\x00\xf0\x3f", 8));
}

}  // namespace
}  // namespace narrowgauge::testing_cli::formats_test
