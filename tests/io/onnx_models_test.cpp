// SPDX-License-Identifier: Apache-2.0
// All models and tensors of the outside material: written again, each gives the bytes of its file,
// which ONNX's own library made.
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/files.h"
#include "io/onnx/for_each.h"
#include "io/onnx/read.h"
#include "io/onnx/write.h"
#include "support/archive.h"

namespace narrowgauge::onnx::onnx_models_test {
namespace {

namespace fs = std::filesystem;

struct Count {
  int models = 0, tensors = 0, others = 0;
};

void check_model(const std::string& path) {
  const Model model = read_model(path);
  EXPECT_TRUE(serialized(model) == testing_files::read_file(path));
  for_each<TensorData>(model, [](const TensorData& tensor) {
    const DataTypeFacts* const facts = facts_of(tensor.data_type);
    ASSERT_NE(facts, nullptr);
    EXPECT_EQ(facts->dtype ? tensor_of(tensor).dims() : tensor.dims, tensor.dims);
  });
}

// Whether the file is a tensor; some cases have sequences, which are other messages.
bool check_tensor(const std::string& path) try {
  const TensorData tensor = read_tensor(path);
  EXPECT_TRUE(serialized(tensor) == testing_files::read_file(path));
  return true;
} catch (const DataError&) {
  return false;
}

Count check_files(const fs::path& folder) {
  Count count;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    SCOPED_TRACE(path);
    if (entry.path().extension() == ".onnx") {
      check_model(path);
      ++count.models;
    }
    if (entry.path().extension() == ".pb") ++(check_tensor(path) ? count.tensors : count.others);
  }
  return count;
}

Count check_archive(const std::string& name) {
  return check_files(
      testing_support::UnpackedArchive(testing_support::data_folder() / "onnx_backend" / name)
          .folder());
}

bool can_unpack(std::string& why) {
  if (!fs::exists(testing_support::data_folder() / "onnx_backend"))
    why = "no " + (testing_support::data_folder() / "onnx_backend").string();
  else if (std::system("command -v xz >/dev/null") != 0)
    why = "no xz to unpack it with";
  return why.empty();
}

TEST(onnx_models, of_single_ops_are_written_as_they_were_read) {
  std::string why;
  if (!can_unpack(why)) GTEST_SKIP() << why;
  EXPECT_GE(check_archive("node.tar.xz").models, 1802);
}

TEST(onnx_models, of_pytorch_are_written_as_they_were_read) {
  std::string why;
  if (!can_unpack(why)) GTEST_SKIP() << why;
  EXPECT_GE(check_archive("simple_pytorch.tar.xz").models, 140);
}

TEST(onnx_models, of_whole_networks_are_written_as_they_were_read) {
  std::string why;
  if (!can_unpack(why)) GTEST_SKIP() << why;
  EXPECT_GE(check_archive("light.tar.xz").models, 9);
}

TEST(onnx_models, that_were_trained_are_written_as_they_were_read) {
  const fs::path folder = testing_support::data_folder() / "onnx_models";
  if (!fs::exists(folder)) GTEST_SKIP() << "no " << folder.string();
  EXPECT_GE(check_files(folder).models, 8);
}

}  // namespace
}  // namespace narrowgauge::onnx::onnx_models_test
