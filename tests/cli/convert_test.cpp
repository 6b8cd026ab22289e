// SPDX-License-Identifier: Apache-2.0
// `convert` writes an engine, tells what it costs, and refuses what it cannot do.
#include <algorithm>
#include <filesystem>

#include "cli/training_fixture.h"
#include "narrowgauge/engine.h"
#include "narrowgauge/npz.h"

namespace narrowgauge::testing_cli::convert_test {
namespace {

class Convert : public Training {
 protected:
  static void SetUpTestSuite() {
    Training::SetUpTestSuite();
    done(quiet_json({"--output", run_folder()}));
  }
  static std::string run_folder() { return *folder_ / "run"; }
  static std::string file(const std::string& name) { return *folder_ / name; }
  static Json converted(Words words) {
    words.insert(words.begin(), "convert");
    words.emplace_back("--json");
    return done(words);
  }
  static void expect_refused(Words words, int code, const std::string& message) {
    words.insert(words.begin(), "convert");
    const Result result = run(words);
    EXPECT_EQ(result.code, code) << result.out;
    EXPECT_TRUE(contains(result.err, message)) << result.err;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  }
};

TEST_F(Convert, a_run_on_bytes_with_its_bill) {
  const std::string engine = file("int8.onnx");
  const Json bill = converted({run_folder(), "--precision", "int8", "--onnx", engine});
  EXPECT_EQ(bill.at("precision"), "int8");
  EXPECT_GT(bill.at("calibration_samples"), 0);
  EXPECT_NEAR(bill.at("accuracy").get<double>(), bill.at("accuracy_before").get<double>(), 0.05);
  EXPECT_LT(bill.at("bytes"), bill.at("bytes_before").get<std::int64_t>() / 2);
  for (const Json& op : bill.at("ops")) EXPECT_EQ(op.at("precision"), "int8");
  EXPECT_EQ(Engine::open(engine).inputs().size(), 1U);
}

TEST_F(Convert, writes_a_cache_that_other_commands_take_or_refuse) {
  const std::string engine = file("cached.onnx"), cache = engine + ".cache";
  converted({run_folder(), "-p", "int8", "-o", engine, "--no-cache"});
  EXPECT_FALSE(std::filesystem::exists(cache));
  const Words words{"run", engine, "--random", "3x1x8x8", "--output", file("scores.npz")};
  const Result without = run(words);
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_FALSE(std::filesystem::exists(cache));
  const std::string scores = testing_files::read_file(file("scores.npz"));
  converted({run_folder(), "-p", "int8", "-o", engine});
  const std::string kept = testing_files::read_file(cache);
  ASSERT_GT(kept.size(), 64U);
  for (const bool damaged : {false, true}) {
    if (damaged) testing_files::write_file(cache, kept.substr(0, kept.size() - 64));
    const Result result = run(words);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(testing_files::read_file(file("scores.npz")), scores);
    EXPECT_EQ(line_count(result.err), line_count(without.err) + (damaged ? 1 : 0)) << result.err;
    EXPECT_EQ(contains(result.err, cache + ": is damaged: expected "), damaged) << result.err;
    EXPECT_EQ(testing_files::read_file(cache).size(), kept.size());
  }
}

TEST_F(Convert, tells_it_to_people_too) {
  const Result result = run({"convert", run_folder(), "--precision", "int8", "--sensitivity"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* text : {"accuracy", "same class", "weights", "most sensitive"})
    EXPECT_TRUE(contains(result.out, text)) << text << '\n' << result.out;
  EXPECT_EQ(run({"convert", run_folder(), "--precision", "bf16", "--quiet"}).out, "");
}

TEST_F(Convert, a_budget_that_is_not_kept_is_exit_7_with_the_table) {
  NamedTensor images{"images", Tensor(DType::f32, {8, 1, 8, 8})};
  const std::string engine = file("mlp.onnx");
  done({"export", run_folder(), "--onnx", engine, "--json"});
  images.name = Engine::open(engine).inputs().at(0).name;
  Dims dims{8};
  for (const Dim& dim : Engine::open(engine).inputs().at(0).type->shape)
    if (dim.is_known()) dims.push_back(dim.value());
  images.tensor = Tensor(DType::f32, dims);
  for (std::int64_t i = 0; i < images.tensor.size(); ++i)
    images.tensor.set(i, static_cast<double>(i % 13) / 13);
  write_npz(file("images.npz"), std::span(&images, 1));
  const Result result =
      run({"convert", engine, "-p", "int8", "--calibrate", file("images.npz"), "--max-drop", "0"});
  EXPECT_EQ(result.code, 7) << result.out;
  EXPECT_TRUE(contains(result.out, "not kept")) << result.out;
}

TEST_F(Convert, an_engine_takes_pixels_where_it_took_normalized_images) {
  const Json plain = converted({run_folder(), "-p", "int8", "-o", file("plain.onnx")});
  const Json bill =
      converted({run_folder(), "-p", "int8", "--pixels", "nhwc", "-o", file("pixels.onnx")});
  EXPECT_EQ(bill.at("accuracy"), plain.at("accuracy"));
  EXPECT_EQ(bill.at("error"), plain.at("error"));
  const Engine engine = Engine::open(file("pixels.onnx"));
  const std::string images = testing_files::read_file(data() + "/t10k-images-idx3-ubyte");
  const std::string labels = testing_files::read_file(data() + "/t10k-labels-idx1-ubyte");
  Tensor pixels(DType::u8, {tiny_test, tiny_side, tiny_side, 1});
  std::copy_n(images.begin() + 16, pixels.size(), pixels.values<std::uint8_t>().begin());
  const Tensor scores = engine.predict(pixels);
  int right = 0;
  for (int i = 0; i < tiny_test; ++i) {
    int best = 0;
    for (int c = 1; c < tiny_classes; ++c)
      if (scores.at(i * tiny_classes + c) > scores.at(i * tiny_classes + best)) best = c;
    right += best == labels[static_cast<std::size_t>(8 + i)];
  }
  EXPECT_NEAR(bill.at("accuracy").get<double>(), static_cast<double>(right) / tiny_test, 0.02);
  expect_refused({run_folder(), "-p", "f32", "--pixels", "nchw", "--mean", "0"}, 2,
                 "is a run, which has its own");
  expect_refused({file("plain.onnx"), "-p", "f32", "--pixels", "nchw"}, 2,
                 "--pixels: nothing tells how pixels are normalized");
  expect_refused({file("plain.onnx"), "-p", "f32", "--pixels", "chw"}, 2, "--pixels");
}

TEST_F(Convert, ranges_are_kept_taken_and_compared) {
  const std::string ranges = file("ranges.json");
  const Json bill = converted({run_folder(), "-p", "int8", "--keep-ranges", ranges});
  const Json again = converted({run_folder(), "-p", "int8", "--ranges", ranges});
  EXPECT_EQ(again.at("error"), bill.at("error"));
  EXPECT_EQ(again.at("calibration_samples"), bill.at("calibration_samples"));
  const Json twice =
      converted({run_folder(), "-p", "int8", "--ranges", ranges, "--ranges", ranges});
  EXPECT_EQ(twice.at("calibration_samples"), 2 * bill.at("calibration_samples").get<int>());
  const Json table = converted({run_folder(), "--ranges", ranges, "--compare-ranges"});
  ASSERT_FALSE(table.at("values").empty());
  for (const Json& value : table.at("values")) EXPECT_EQ(value.at("ranges").size(), 4U);
  const Result text = run({"convert", run_folder(), "--ranges", ranges, "--compare-ranges"});
  for (const char* word : {"percentile(99.99)", "entropy", "clipped", "ranges.json"})
    EXPECT_TRUE(contains(text.out, word)) << word << '\n' << text.out;
  expect_refused({run_folder(), "-p", "int8", "--ranges", ranges, "--plain"}, 2,
                 "convert without --plain");
  expect_refused({run_folder(), "-p", "bf16", "--ranges", ranges}, 2, "ranges are for int8");
  expect_refused({run_folder(), "--compare-ranges", "-o", file("none.onnx")}, 2,
                 "makes no network");
}

TEST_F(Convert, damaged_ranges_are_refused) {
  using testing_files::write_file;
  write_file(file("empty"), "");
  write_file(file("foreign"), "{\"format\": \"GIF\"}");
  write_file(file("cut"), "{\"format\": \"narrowgauge calibration\", \"version\": 1}");
  for (const auto& [name, text] : {std::pair("empty", "is damaged"),
                                   {"foreign", "is no calibration"},
                                   {"cut", "is damaged"},
                                   {"nowhere", "nowhere"}})
    expect_refused({run_folder(), "-p", "int8", "--ranges", file(name)}, 4, text);
}

TEST_F(Convert, what_cannot_be_written_leaves_what_was_there) {
  const std::string kept = file("kept.onnx");
  testing_files::write_file(kept, "older");
  std::filesystem::create_directory(file("folder"));
  const Words words{"convert", run_folder(), "-p", "int8", "-q", "-o"};
  const auto into = [&](const std::string& path, const Surroundings& surroundings) {
    Words all = words;
    all.push_back(path);
    return run(all, surroundings);
  };
  for (const auto& [path, limit] : {std::pair(kept, 1000L), {file("folder"), 0L}}) {
    const Result result = into(path, {.file_limit = limit});
    EXPECT_EQ(result.code, 4) << result.err;
    EXPECT_EQ(line_count(result.err), 1) << result.err;
    EXPECT_TRUE(contains(result.err, path)) << result.err;
  }
  EXPECT_EQ(testing_files::read_file(kept), "older");
}

TEST_F(Convert, an_interruption_writes_nothing) {
  const std::string engine = file("interrupted.onnx");
  for (const char* stage : {"measuring", "calibrating", "sensitivity"}) {
    const Result result =
        run({"convert", run_folder(), "-p", "int8", "--sensitivity", "-o", engine},
            {.columns = 80, .interrupt_at = stage});
    EXPECT_EQ(result.code, 130) << result.out;
    EXPECT_TRUE(contains(result.out, "interrupted: convert: nothing is written")) << result.out;
    EXPECT_FALSE(std::filesystem::exists(engine));
  }
}

TEST_F(Convert, refuses_what_does_not_fit) {
  expect_refused({run_folder(), "--max-drop", "-1"}, 2, "--max-drop");
  std::filesystem::create_directory(file("no_data"));
  expect_refused({run_folder(), "--calibrate", file("no_data")}, 4, "no_data");
  const std::string quantized = file("quantized.onnx");
  done({"convert", run_folder(), "-p", "int8", "-o", quantized, "--json"});
  expect_refused({quantized, "-p", "int8", "--calibrator", "entropy"}, 2,
                 "is quantized already, its own ranges stay");
  expect_refused({}, 2, "what to convert is missing");
  expect_refused({run_folder(), "--precision", "int4"}, 2, "int4");
  expect_refused({run_folder(), "--calibrator", "guess"}, 2, "guess");
  expect_refused({run_folder(), "--precision", "int8", "--calibrate", file("nowhere")}, 4,
                 "nowhere");
  expect_refused({file("nowhere.onnx"), "--precision", "bf16"}, 4, "nowhere.onnx");
  expect_refused({"--model", "lenet", "--precision", "int8"}, 2, "needs samples");
  NamedTensor images{"images", Tensor(DType::f32, {8, 3})};
  write_npz(file("other.npz"), std::span(&images, 1));
  expect_refused({"--model", "lenet", "-p", "int8", "--calibrate", file("other.npz")}, 4,
                 "input 'images'");
  expect_refused({run_folder(), "--onnx", file("no/such/folder.onnx"), "-p", "f32"}, 4,
                 "folder.onnx");
}

TEST_F(Convert, training_on_bytes_goes_on_and_converts_without_loss) {
  const std::string trained = file("trained");
  const Json result = done({"train", run_folder(), "--quantize", "int8", "--epochs", "1", "--batch",
                            "32", "--output", trained, "--json", "--quiet"});
  const Json bill = converted({trained, "--precision", "int8", "--onnx", file("trained.onnx")});
  EXPECT_NEAR(bill.at("accuracy").get<double>(), result.at("test_accuracy").get<double>(), 1e-9);
  EXPECT_FALSE(bill.at("ops").empty());
  const Result refused = run({"train", "--model", "mlp", "--data", data(), "--quantize", "int8"});
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_TRUE(contains(refused.err, "--quantize: needs a trained network")) << refused.err;
}

}  // namespace
}  // namespace narrowgauge::testing_cli::convert_test
