// SPDX-License-Identifier: Apache-2.0
// Each request for memory fails by itself: the call says so, and whatever it worked on goes on as
// if it had not been called. Files of ONNX, conversion and engines.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/narrowgauge.h"
#include "support/failing_allocation.h"

namespace narrowgauge::failing_engine_test {
namespace {

using failing_allocation::fail_each_request_of;
using failing_allocation::Pause;

constexpr auto nothing_to_check = [] {};
constexpr std::size_t most = 30;

class Engines : public testing::Test {
 protected:
  Engines() {
    options.precision = EnginePrecision::int8;
    options.calibration = small_source(32);
    options.calibration_samples = 16;
  }
  void expect_no_temporaries() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
      EXPECT_EQ(entry.path().filename().string().find(".tmp"), std::string::npos) << entry;
  }

  const std::array<Tensor, 2> batch = small_batch(1);
  const Model model{"small", small_network(), 3};
  const testing_files::TemporaryFolder folder;
  ConvertOptions options;
};

TEST_F(Engines, are_written_and_read_as_onnx) {
  const std::string path = folder / "small.onnx";
  fail_each_request_of(
      "to_onnx(path)", most, [&] { model.to_onnx(path); }, [&] { expect_no_temporaries(); });
  const std::vector<std::byte> bytes = model.to_onnx();
  fail_each_request_of(
      "to_onnx()", most, [&] { EXPECT_EQ(model.to_onnx(), bytes); }, nothing_to_check);
  const std::string weights = Model::from_onnx(path).sha256();
  fail_each_request_of(
      "from_onnx(path)", most, [&] { EXPECT_EQ(Model::from_onnx(path).sha256(), weights); },
      nothing_to_check);
  fail_each_request_of(
      "from_onnx()", most, [&] { EXPECT_EQ(Model::from_onnx(bytes).sha256(), weights); },
      nothing_to_check);
}

TEST_F(Engines, are_opened) {
  const Engine made = convert(model, options);
  const Tensor answer = made.predict(batch[0]);
  const std::string path = folder / "small.onnx";
  made.save(path);
  for (const CacheUse use : {CacheUse::off, CacheUse::read})
    fail_each_request_of(
        "Engine::open()", most,
        [&] { EXPECT_TRUE(Engine::open(path, use).predict(batch[0]).same_bits(answer)); },
        nothing_to_check);
  std::optional<Engine> engine;
  fail_each_request_of(
      "first answer of an engine", most,
      [&] {
        {
          const Pause pause;
          std::filesystem::remove(path + ".cache");
          engine.emplace(Engine::open(path, CacheUse::make));
        }
        EXPECT_TRUE(engine->predict(batch[0]).same_bits(answer));
      },
      [&] { EXPECT_TRUE(engine->predict(batch[0]).same_bits(answer)); });
  fail_each_request_of(
      "Engine::save()", most, [&] { made.save(path); },
      [&] {
        expect_no_temporaries();
        EXPECT_TRUE(Engine::open(path).predict(batch[0]).same_bits(answer));
      });
}

TEST_F(Engines, are_converted) {
  const Tensor answer = convert(model, options).predict(batch[0]);
  const std::string weights = model.sha256();
  const auto as_it_was = [&] { EXPECT_EQ(model.sha256(), weights); };
  fail_each_request_of(
      "convert() to int8", most,
      [&] { EXPECT_TRUE(convert(model, options).predict(batch[0]).same_bits(answer)); }, as_it_was);
  ConvertOptions narrow;
  narrow.precision = EnginePrecision::bf16;
  fail_each_request_of(
      "convert() to bf16", most, [&] { convert(model, narrow); }, as_it_was);
  ConvertOptions kept = options;
  kept.keep_calibration = folder / "kept.json";
  fail_each_request_of(
      "convert() that keeps ranges", most, [&] { convert(model, kept); },
      [&] { expect_no_temporaries(); });
  ConvertOptions again = options;
  again.calibration = nullptr;
  again.calibration_files = {folder / "kept.json"};
  fail_each_request_of(
      "convert() by kept ranges", most, [&] { convert(model, again); }, as_it_was);
  fail_each_request_of(
      "compare_ranges()", most, [&] { compare_ranges(model, options); }, as_it_was);
  fail_each_request_of(
      "prepare_quantized_training()", most,
      [&] { prepare_quantized_training(model, options, folder / "prepared.onnx"); },
      [&] { expect_no_temporaries(); });
}

}  // namespace
}  // namespace narrowgauge::failing_engine_test
