// SPDX-License-Identifier: Apache-2.0
// Pictures in another size, as Pillow 13 makes them (BILINEAR, of an image of floats).
#include <gtest/gtest.h>

#include <vector>

#include "io/files.h"
#include "io/images/resize.h"

namespace narrowgauge::image_resize_test {
namespace {

const std::vector<std::uint8_t> greys = {111, 118, 145, 172, 179, 112, 114, 120,
                                         125, 127, 113, 109, 93,  78,  74};

void expect_near(const Tensor& image, const std::vector<float>& expected) {
  ASSERT_EQ(image.size(), std::ssize(expected));
  for (std::int64_t i = 0; i < image.size(); ++i)
    EXPECT_NEAR(image.at(i), expected[static_cast<std::size_t>(i)], 1e-3) << i;
}

TEST(image_resize, gives_what_pillow_gives) {
  const Tensor image = Tensor::from<std::uint8_t>({3, 5, 1}, greys);
  const ImageBox whole{0, 0, 3, 5};
  expect_near(resized_image(image, whole, 2, 2), {120.938f, 150.023f, 108.977f, 97.466f});
  expect_near(resized_image(image, whole, 4, 7),
              {111.0f,   115.0f,   125.714f, 145.0f,   164.286f, 175.0f,   179.0f,
               111.625f, 113.839f, 119.464f, 129.375f, 138.839f, 144.286f, 146.5f,
               112.375f, 112.232f, 111.482f, 109.875f, 108.089f, 107.268f, 107.125f,
               113.0f,   110.714f, 104.429f, 93.0f,    82.286f,  76.286f,  74.0f});
  expect_near(resized_image(image, {0, 1, 3, 4}, 2, 2), {122.306f, 148.694f, 108.486f, 97.931f});
}

TEST(image_resize, keeps_channels_apart) {
  std::vector<std::uint8_t> twice;
  for (const std::uint8_t grey : greys) twice.insert(twice.end(), {grey, 255});
  const Tensor resized =
      resized_image(Tensor::from<std::uint8_t>({3, 5, 2}, twice), {0, 0, 3, 5}, 2, 2);
  EXPECT_EQ(resized.dims(), (Dims{2, 2, 2}));
  for (std::int64_t i = 1; i < resized.size(); i += 2) EXPECT_NEAR(resized.at(i), 255, 1e-3);
  EXPECT_NEAR(resized.at(2), 150.023, 1e-3);
}

TEST(image_resize, of_a_tall_picture_takes_no_memory_for_its_rows) {
  const Tensor tall = Tensor::full(DType::u8, {200000, 1, 3}, 7);
  const std::int64_t before = testing_files::most_memory();
  const Tensor resized = resized_image(tall, {0, 0, 200000, 1}, 224, 224);
  EXPECT_LT(testing_files::most_memory() - before, 64 << 10);  // KiB
  EXPECT_NEAR(resized.at(100000), 7, 1e-4);
}

TEST(image_resize, takes_the_middle_in_the_shape_that_is_wanted) {
  const ImageBox wide = middle_box(10, 30, 4, 8);
  EXPECT_EQ(wide.top, 0);
  EXPECT_EQ(wide.bottom, 10);
  EXPECT_EQ(wide.left, 5);
  EXPECT_EQ(wide.right, 25);
  const ImageBox same = middle_box(10, 30, 20, 60);
  EXPECT_EQ(same.left, 0);
  EXPECT_EQ(same.bottom, 10);
}

}  // namespace
}  // namespace narrowgauge::image_resize_test
