// SPDX-License-Identifier: Apache-2.0
// ONNX's ImageDecoder: decoded where the bytes are known, and what is refused.
#include <gtest/gtest.h>

#include <string>

#include "io/onnx_small_model.h"
#include "io/small_images.h"
#include "narrowgauge/error.h"

namespace narrowgauge::testing_support::onnx_images_test {
namespace {

Tensor encoded(const std::string& bytes) {
  return Tensor::from<std::uint8_t>(
      {std::ssize(bytes)}, {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

SmallModel decoder(const std::string& format) {
  SmallModel model(20);
  model.node("ImageDecoder", {"bytes"}, {"y"}, {{"pixel_format", format}});
  return model.output("y");
}

Tensor decoded(const std::string& bytes, const std::string& format = "RGB") {
  return decoder(format).initializer("bytes", encoded(bytes)).run({}).at(0);
}

TEST(onnx_images, are_decoded_where_their_bytes_are_known) {
  const std::string file = small_image("png_in_colours");
  EXPECT_EQ(decoded(file).type(), TensorType::parse("u8[3,5,3]"));
  EXPECT_EQ(decoded(file).at(0), decoded(file, "BGR").at(2));
  EXPECT_EQ(decoded(file, "Grayscale").type(), TensorType::parse("u8[3,5,1]"));
  SmallModel open = decoder("RGB").input("bytes", "u8[n]");
  EXPECT_THROW(open.graph(), UnknownValueError);
  const Graph known = open.graph({.known = {{"bytes", {{encoded(file)}}}}});
  EXPECT_TRUE(interpret(known, {}).at(0).same_bits(decoded(file)));
}

TEST(onnx_images, are_empty_where_they_cannot_be_decoded) {
  EXPECT_EQ(decoded("no picture").type(), TensorType::parse("u8[0,0,3]"));
  const std::string file = small_image("jpeg_in_colours");
  EXPECT_EQ(decoded(file.substr(0, file.size() / 2), "Grayscale").type(),
            TensorType::parse("u8[0,0,1]"));
}

TEST(onnx_images, of_formats_that_are_not_read_are_refused) {
  EXPECT_THROW(decoded(std::string("II*\0", 4)), ModelError);
  EXPECT_THROW(decoded(small_image("png_in_colours"), "CMYK"), ModelError);
  const SmallModel floats_in = decoder("RGB").initializer("bytes", floats({2}, {1, 2}));
  EXPECT_THROW(floats_in.graph(), ModelError);
}

}  // namespace
}  // namespace narrowgauge::testing_support::onnx_images_test
