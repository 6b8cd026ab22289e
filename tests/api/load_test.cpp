// SPDX-License-Identifier: Apache-2.0
// Weights from files of other programs.
#include <gtest/gtest.h>

#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge {
namespace {

using testing_files::TemporaryFolder;

// The small network's weights, and these beside them.
std::string file_with(const TemporaryFolder& folder, const Model& model,
                      const std::vector<std::string>& more) {
  TensorFile file;
  for (const std::string& name : model.state_names())
    file.tensors.push_back({name, model.state(name)});
  for (const std::string& name : more)
    file.tensors.push_back({name, Tensor::scalar(DType::i64, 41)});
  std::string path = folder / "weights.safetensors";
  write_safetensors(path, file);
  return path;
}

TEST(load, passes_over_counts_of_batches_and_numbers_of_positions) {
  const TemporaryFolder folder;
  const Model trained("small", small_network(), 5);
  const std::string path =
      file_with(folder, trained, {"batchnorm.num_batches_tracked", "bert.embeddings.position_ids"});
  Model model("small", small_network());
  ASSERT_NE(model.sha256(), trained.sha256());
  model.load(path);
  EXPECT_EQ(model.sha256(), trained.sha256());
}

TEST(load, refuses_weights_that_the_model_does_not_have) {
  const TemporaryFolder folder;
  const Model trained("small", small_network(), 5);
  const std::string path = file_with(folder, trained, {"linear_2.weight"});
  Model model("small", small_network());
  const std::string before = model.sha256();
  try {
    model.load(path);
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("linear_2.weight"), std::string::npos) << error.what();
  }
  EXPECT_EQ(model.sha256(), before);
}

}  // namespace
}  // namespace narrowgauge
