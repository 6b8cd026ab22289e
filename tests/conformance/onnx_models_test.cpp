// SPDX-License-Identifier: Apache-2.0
// Whole models: ONNX's cases that came from PyTorch, and trained ones with recorded outputs, the
// latter as users of the library run them.
#include <gtest/gtest.h>

#include <filesystem>

#include "conformance/onnx_cases.h"
#include "narrowgauge/model.h"
#include "support/archive.h"

namespace narrowgauge::testing_support::onnx_models_test {
namespace {

namespace fs = std::filesystem;

TEST(onnx_models, cases_from_pytorch_agree) {
  const fs::path archive = data_folder() / "onnx_backend" / "simple_pytorch.tar.xz";
  if (!fs::exists(archive)) GTEST_SKIP() << "no " << archive.string();
  const UnpackedArchive unpacked(archive);
  int cases = 0;
  for (const auto& entry : fs::recursive_directory_iterator(unpacked.folder())) {
    if (entry.path().filename() != "model.onnx") continue;
    ++cases;
    EXPECT_NO_THROW(check_case(onnx::read_model(entry.path().string()), entry.path().parent_path()))
        << entry.path();
  }
  EXPECT_EQ(cases, 140);
}

// Relative to the largest number: what was recorded is the result of another program.
void expect_near(const Tensor& got, const Tensor& expected, double tolerance) {
  ASSERT_EQ(got.type(), expected.type());
  double difference = 0, largest = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    difference = std::max(difference, std::abs(got.at(i) - expected.at(i)));
    largest = std::max(largest, std::abs(expected.at(i)));
  }
  EXPECT_LE(difference, tolerance * largest);
}

void check_trained(const fs::path& folder, Math math, double tolerance) {
  SCOPED_TRACE(concat(folder.string(), " in ", name(math)));
  Model model = Model::from_onnx((folder / "model.onnx").string());
  model.set_precision({.f32_math = math});
  const onnx::Model file = onnx::read_model((folder / "model.onnx").string());
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    std::vector<NamedTensor> inputs;
    const auto values = read_values(entry, "input", file.graph.inputs);
    for (std::size_t i = 0; i < values.size(); ++i)
      inputs.push_back({file.graph.inputs[i].name, values[i].values.at(0)});
    const std::vector<NamedTensor> outputs = model.run(inputs);
    const auto expected = read_values(entry, "output", file.graph.outputs);
    ASSERT_EQ(outputs.size(), expected.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(outputs[i].name, file.graph.outputs[i].name);
      expect_near(outputs[i].tensor, expected[i].values.at(0), tolerance);
    }
  }
}

// Models run in IEEE's f32, and in the fast mode of the machine, which may take operands of 16
// bits.
TEST(onnx_models, trained_models_give_their_recorded_outputs) {
  const fs::path folder = data_folder() / "onnx_models";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder.string();
  int models = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    ++models;
    check_trained(entry.path(), Math::ieee, 1e-5);
    check_trained(entry.path(), Math::f32, 1e-3);
  }
  EXPECT_EQ(models, 8);
}

}  // namespace
}  // namespace narrowgauge::testing_support::onnx_models_test
