// SPDX-License-Identifier: Apache-2.0
// Weights of other programs, named as what they are.
#include <gtest/gtest.h>

#include "io/files.h"
#include "narrowgauge/safetensors.h"

namespace narrowgauge::foreign_weights_test {
namespace {

using namespace std::string_literals;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string refusal(const std::string& name, const std::string& content) {
  const testing_files::TemporaryFolder folder;
  testing_files::write_file(folder / name, content);
  try {
    read_safetensors(folder / name);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

const std::string rest(200, 'x');
const std::string zip = "PK\x03\x04\0\0\x08\x08"s + rest;  // as torch.save begins

TEST(foreign_weights, of_py_torch_come_with_the_line_that_converts_them) {
  const std::string pickle = "\x80\x02\x8a\x0al\xfc\x9c\x46"s + rest;  // torch.save before 1.6
  for (const std::string& text : {refusal("net.pth", zip), refusal("net.bin", zip),
                                  refusal("net.pth", pickle), refusal("net", pickle)}) {
    EXPECT_TRUE(contains(text, "is a checkpoint of PyTorch, expected safetensors")) << text;
    EXPECT_TRUE(contains(text, "weights_only=True")) << text;
    EXPECT_TRUE(contains(text, "/net.safetensors')")) << text;
  }
  EXPECT_TRUE(contains(refusal("a'b.pt", zip), "torch.load(FILE")) << refusal("a'b.pt", zip);
}

TEST(foreign_weights, are_named) {
  EXPECT_TRUE(contains(refusal("net.h5", "\x89HDF\r\n\x1a\n" + rest), "an HDF5 file"));
  EXPECT_TRUE(contains(refusal("net.gguf", "GGUF\x03\0\0\0"s + rest), "a GGUF file"));
  EXPECT_TRUE(contains(refusal("net.npy", "\x93NUMPY\x01\0"s + rest), "an array of NumPy"));
  EXPECT_TRUE(contains(refusal("net.npz", zip), "an archive of NumPy"));
  EXPECT_TRUE(contains(refusal("net.keras", zip), "a model of Keras"));
  EXPECT_TRUE(contains(refusal("net.onnx", "\x08\x07\x12\x07pytorch" + rest), "an ONNX model"));
}

// 640 is 0x280, with which pickles begin too.
TEST(foreign_weights, are_not_seen_in_a_header_of_any_length) {
  for (const std::size_t length : {640, 896, 1152, 1408}) {
    std::string header = R"({"__metadata__":{"note":")";
    header += std::string(length - header.size() - 3, 'n') + "\"}}";
    ASSERT_EQ(header.size(), length);
    const std::string start{static_cast<char>(length % 256), static_cast<char>(length / 256)};
    EXPECT_EQ(refusal("net.safetensors", start + std::string(6, '\0') + header), "");
    const std::string cut = refusal("net.safetensors", start + std::string(6, '\0') + "{");
    EXPECT_TRUE(contains(cut, "expected a header of")) << cut;
  }
}

}  // namespace
}  // namespace narrowgauge::foreign_weights_test
