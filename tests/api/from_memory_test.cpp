// SPDX-License-Identifier: Apache-2.0
// Networks and weights that lie in memory, without a file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "api/small_training.h"
#include "io/files.h"
#include "io/onnx/write.h"
#include "io/onnx_small_model.h"
#include "narrowgauge/narrowgauge.h"
#include "support/own_process.h"

namespace narrowgauge::from_memory_test {
namespace {

using testing_support::ends_by_usage_error;
using Bytes = std::vector<std::byte>;

Bytes bytes_of_text(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The message of the error that a call throws.
template <class Error = DataError>
std::string message_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(from_memory, a_model_is_written_and_read_without_a_file) {
  Model model("small", small_network());
  const Tensor images = small_batch(0)[0];
  Bytes bytes = model.to_onnx();
  Model read = Model::from_onnx(bytes, {.name = "nets/own.onnx"});
  const Engine engine = Engine::open(bytes);
  std::ranges::fill(bytes, std::byte{0xff});  // they need not stay
  bytes = Bytes();
  EXPECT_EQ(read.name(), "own");
  EXPECT_TRUE(read.predict(images).same_bits(model.predict(images)));
  EXPECT_TRUE(engine.predict(images).same_bits(model.predict(images)));
}

TEST(from_memory, the_bytes_are_those_of_the_file) {
  const testing_files::TemporaryFolder folder;
  Model model("small", small_network());
  model.to_onnx(folder / "m.onnx", 4);
  EXPECT_EQ(model.to_onnx(4), bytes_of_text(testing_files::read_file(folder / "m.onnx")));
  model.save(folder / "m.safetensors");
  EXPECT_EQ(model.save(), bytes_of_text(testing_files::read_file(folder / "m.safetensors")));
  const Engine engine = convert(model, {.precision = EnginePrecision::f32});
  engine.save(folder / "e.onnx", CacheUse::off);
  EXPECT_EQ(engine.save(), bytes_of_text(testing_files::read_file(folder / "e.onnx")));
}

TEST(from_memory, weights_are_written_and_read_without_a_file) {
  const Model model("small", small_network(), 1);
  Model other("small", small_network(), 2);
  EXPECT_NE(other.sha256(), model.sha256());
  const Bytes bytes = model.save();
  EXPECT_EQ(other.load(bytes).missing.size(), 0U);
  EXPECT_EQ(other.sha256(), model.sha256());
  Model third("small", small_network(), 3);
  Bytes shifted(bytes.size() + 1);  // bytes lie anywhere
  std::ranges::copy(bytes, shifted.begin() + 1);
  third.load(std::span(shifted).subspan(1), {.match = LoadMatch::shape}, "cache");
  EXPECT_EQ(third.sha256(), model.sha256());
}

TEST(from_memory, tensors_are_written_and_read_without_a_file) {
  const TensorFile content{{{"x", Tensor::full(DType::f16, {2, 3}, 1.5)}}, {{"made", "here"}}};
  const TensorFile read = read_safetensors(safetensors_bytes(content));
  ASSERT_EQ(read.tensors.size(), 1U);
  EXPECT_TRUE(read.tensors[0].tensor.same_bits(content.tensors[0].tensor));
  EXPECT_EQ(read.metadata, content.metadata);
}

// What is broken in memory is refused as it is in a file, under the name that it was given.
TEST(from_memory, errors_are_those_of_files) {
  const testing_files::TemporaryFolder folder;
  const std::string path = folder / "x";
  Model model("small", small_network());
  const Bytes onnx = model.to_onnx(), weights = model.save();
  for (const std::size_t part : {0, 1, 7, 50, 1000}) {
    for (const bool is_onnx : {true, false}) {
      const Bytes& whole = is_onnx ? onnx : weights;
      const std::span cut = std::span(whole).first(part);
      testing_files::write_file(path, {reinterpret_cast<const char*>(cut.data()), cut.size()});
      const std::string of_file = message_of([&] {
        if (is_onnx) Model::from_onnx(path);
        model.load(path);
      });
      const std::string of_memory = message_of([&] {
        if (is_onnx) Model::from_onnx(cut, {.name = path});
        model.load(cut, {}, path);
      });
      EXPECT_EQ(of_memory, of_file) << part;
      EXPECT_NE(of_memory, "nothing was thrown");
    }
  }
  EXPECT_TRUE(
      message_of([&] { Model::from_onnx(std::span(onnx).first(9)); }).starts_with("model.onnx: "));
  EXPECT_TRUE(message_of([&] {
                Engine::open(std::span(onnx).first(9), {.name = "e"});
              }).starts_with("e: "));
  EXPECT_TRUE(message_of([&] {
                model.load(std::span(weights).first(9));
              }).starts_with("model.safetensors: "));
}

// Adds a parameter in an external file to its input.
class WithExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    testing_support::SmallModel small(17);
    small.model.graph.inputs.push_back(testing_support::onnx_value("x", "f32[256]"));
    small.model.graph.outputs.push_back(testing_support::onnx_value("y", "f32[256]"));
    small.model.graph.nodes.push_back(testing_support::onnx_node("Add", {"x", "w"}, {"y"}));
    Tensor weights(DType::f32, {256});
    for (std::int64_t i = 0; i < 256; ++i) weights.set(i, static_cast<double>(i));
    small.model.graph.initializers.push_back(onnx::tensor_data_of(weights, "w"));
    onnx::write_model(folder_ / "m.onnx", small.model, {.external_from = 16});
    model_ = bytes_of_text(testing_files::read_file(folder_ / "m.onnx"));
    weights_ = bytes_of_text(testing_files::read_file(folder_ / "m.onnx.data"));
  }
  testing_files::TemporaryFolder folder_;
  Bytes model_, weights_;
};

TEST_F(WithExternalData, is_refused_where_nobody_gives_them) {
  const std::string expected =
      "model.onnx: tensor 'w': external data 'm.onnx.data': the model lies in memory, and nothing "
      "gives its other files";
  EXPECT_EQ(message_of([&] { Model::from_onnx(model_); }), expected);
  EXPECT_EQ(message_of([&] { Engine::open(model_); }), expected);
}

TEST_F(WithExternalData, is_read_from_what_the_caller_gives) {
  int asked = 0;
  const OnnxMemory memory{.name = "m.onnx", .external = [&](const std::string& location) {
                            EXPECT_EQ(location, "m.onnx.data");
                            ++asked;
                            return std::span<const std::byte>(weights_);
                          }};
  Model model = Model::from_onnx(model_, memory);
  const Engine engine = Engine::open(model_, memory);
  EXPECT_EQ(asked, 2);
  std::ranges::fill(weights_, std::byte{0});
  const Tensor ones = Tensor::full(DType::f32, {256}, 1);
  EXPECT_EQ(model.predict(ones).at(7), 8);
  EXPECT_EQ(engine.predict(ones).at(7), 8);
  weights_.resize(100);
  EXPECT_NE(message_of([&] { Model::from_onnx(model_, memory); }).find("the file has 100"),
            std::string::npos);
}

}  // namespace
}  // namespace narrowgauge::from_memory_test
