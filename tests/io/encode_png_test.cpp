// SPDX-License-Identifier: Apache-2.0
#include "io/images/encode_png.h"

#include <gtest/gtest.h>

#include "io/images/codecs.h"
#include "narrowgauge/error.h"

namespace narrowgauge::encode_png_test {
namespace {

Tensor noise(Dims dims) {
  Tensor pixels(DType::u8, dims);
  std::uint32_t state = 7;
  for (std::int64_t i = 0; i < pixels.size(); ++i) {
    state = state * 1664525 + 1013904223;
    pixels.set(i, static_cast<double>(state >> 24));
  }
  return pixels;
}

TEST(encode_png, writes_what_libpng_reads_back) {
  for (const Dims& dims : {Dims{1, 1, 1}, Dims{5, 3, 1}, Dims{28, 28, 3}, Dims{2, 300, 3}}) {
    const Tensor pixels = noise(dims);
    const std::string bytes = encode_png(pixels);
    EXPECT_TRUE(decode_png(bytes, 1 << 20).same_bits(pixels)) << pixels.type().shape.size();
  }
}

TEST(encode_png, refuses_what_is_no_picture) {
  EXPECT_THROW(encode_png(Tensor(DType::u8, {4, 4, 2})), UsageError);
  EXPECT_THROW(encode_png(Tensor(DType::u8, {4, 4})), UsageError);
  EXPECT_THROW(encode_png(Tensor(DType::u8, {0, 4, 1})), UsageError);
  EXPECT_THROW(encode_png(Tensor(DType::f32, {4, 4, 1})), UsageError);
}

}  // namespace
}  // namespace narrowgauge::encode_png_test
