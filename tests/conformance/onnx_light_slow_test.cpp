// SPDX-License-Identifier: Apache-2.0
// ONNX's light models: nine known networks with weights that make every output known, on inputs
// arange(n) / n.
#include <gtest/gtest.h>

#include <filesystem>

#include "conformance/onnx_cases.h"
#include "narrowgauge/model.h"
#include "support/archive.h"

namespace narrowgauge::testing_support::onnx_light_slow_test {
namespace {

namespace fs = std::filesystem;

Tensor ramp(const TensorType& type) {
  Tensor tensor(type.dtype, known_dims(type.shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, static_cast<double>(i) / static_cast<double>(tensor.size()));
  return tensor;
}

TEST(onnx_light, all_nine_agree) {
  const fs::path archive = data_folder() / "onnx_backend" / "light.tar.xz";
  if (!fs::exists(archive)) GTEST_SKIP() << "no " << archive.string();
  const UnpackedArchive unpacked(archive);
  int models = 0;
  for (const auto& entry : fs::recursive_directory_iterator(unpacked.folder())) {
    if (entry.path().extension() != ".onnx") continue;
    ++models;
    SCOPED_TRACE(entry.path());
    Model model = Model::from_onnx(entry.path().string());
    const ModelPort input = model.inputs().at(0);
    const NamedTensor given[] = {{input.name, ramp(*input.type)}};
    const std::string path = entry.path().string();
    const std::string stem = path.substr(0, path.size() - std::string(".onnx").size());
    EXPECT_NO_THROW(expect_equal(model.run(given).at(0).tensor,
                                 onnx::tensor_of(onnx::read_tensor(stem + "_output_0.pb"))));
  }
  EXPECT_EQ(models, 9);
}

}  // namespace
}  // namespace narrowgauge::testing_support::onnx_light_slow_test
