// SPDX-License-Identifier: Apache-2.0
// Pictures with masks: pairs, classes, and that changes move both alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "io/files.h"
#include "io/images/encode_png.h"
#include "io/pictures/image.h"
#include "narrowgauge/images.h"

namespace narrowgauge::segmentation_test {
namespace {

using testing_files::TemporaryFolder;
using testing_files::write_file;

// Grey u8 [height, width, 1] with the same number everywhere but for one quadrant.
Tensor quadrant(std::uint8_t inside, std::uint8_t outside, std::int64_t height = 16,
                std::int64_t width = 16) {
  Tensor image(DType::u8, {height, width, 1});
  for (std::int64_t i = 0; i < image.size(); ++i)
    image.set(i, 2 * (i / width) < height && 2 * (i % width) < width ? inside : outside);
  return image;
}

void write_pairs(const std::string& folder, const char* masks, int count, std::uint8_t inside,
                 std::uint8_t outside = 0) {
  std::filesystem::create_directories(folder + "/images");
  std::filesystem::create_directories(folder + "/" + masks);
  for (int i = 0; i < count; ++i) {
    const std::string name = "/s" + std::to_string(i);
    write_file(folder + "/images" + name + ".png", encode_png(quadrant(200, 20)));
    write_file(folder + "/" + masks + name + ".png", encode_png(quadrant(inside, outside)));
  }
}

std::string refusal(const std::string& folder) {
  try {
    read_segmentation_folder(folder);
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

TEST(segmentation, masks_tell_classes_or_foreground) {
  const TemporaryFolder folder;
  write_pairs(folder / "white", "masks", 5, 255);
  const SegmentationFolder white = read_segmentation_folder(folder / "white");
  EXPECT_TRUE(white.foreground);
  EXPECT_EQ(white.classes, 2);
  EXPECT_EQ(white.training.size(), 4U);
  EXPECT_EQ(white.test.size(), 1U);
  write_pairs(folder / "classes", "labels", 5, 3);
  const SegmentationFolder classes = read_segmentation_folder(folder / "classes");
  EXPECT_FALSE(classes.foreground);
  EXPECT_EQ(classes.classes, 4);
  write_pairs(folder / "shapes", "instances", 5, 9);
  EXPECT_TRUE(read_segmentation_folder(folder / "shapes").foreground);
  EXPECT_TRUE(std::holds_alternative<SegmentationFolder>(open_data(folder / "shapes")));
}

TEST(segmentation, parts_and_partners) {
  const TemporaryFolder folder;
  write_pairs(folder / "train", "masks", 3, 1);
  write_pairs(folder / "val", "masks", 2, 1);
  write_file(folder / "train/images/alone.png", encode_png(quadrant(1, 2)));
  write_file(folder / "train/masks/lost.png", encode_png(quadrant(1, 0)));
  const SegmentationFolder found = read_segmentation_folder(folder.path());
  EXPECT_EQ(found.training.size(), 3U);
  EXPECT_EQ(found.test.size(), 2U);
  EXPECT_EQ(found.other_files, (std::vector<std::string>{folder / "train/images/alone.png",
                                                         folder / "train/masks/lost.png"}));
}

TEST(segmentation, what_is_no_pair_or_mask_is_refused) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "a/images");
  EXPECT_NE(refusal(folder / "a").find("expected a folder images and one of masks"),
            std::string::npos);
  write_pairs(folder / "b", "masks", 2, 1);
  std::filesystem::rename(folder / "b/masks/s0.png", folder / "b/masks/x.png");
  std::filesystem::rename(folder / "b/masks/s1.png", folder / "b/masks/y.png");
  EXPECT_NE(refusal(folder / "b").find("no picture has a mask of the same name"),
            std::string::npos);
  write_pairs(folder / "c", "masks", 2, 0);
  EXPECT_NE(refusal(folder / "c").find("all pixels of the masks are 0"), std::string::npos);
  write_pairs(folder / "d", "masks", 2, 1);
  write_file(folder / "d/images/s0.bmp", "x");
  EXPECT_NE(refusal(folder / "d").find("has the same name but for its ending"), std::string::npos);
  Tensor colours(DType::u8, {2, 2, 3});
  colours.set(0, 7);
  write_file(folder / "rgb.png", encode_png(colours));
  EXPECT_THROW(read_mask(folder / "rgb.png"), DataError);
  write_file(folder / "fake.jpg", "\xff\xd8\xff");
  EXPECT_THROW(read_mask(folder / "fake.jpg"), DataError);
}

std::vector<Tensor> sample(const SegmentationFolder& folder, const ImageInput& input,
                           std::int64_t epoch) {
  ImageSource source(folder.training, folder.foreground, input);
  std::vector<Tensor> batch;
  for (const TensorType& type : source.sample_types()) {
    Dims dims = known_dims(type.shape);
    dims.insert(dims.begin(), 1);
    batch.emplace_back(type.dtype, dims);
  }
  const std::int64_t first = 0;
  EXPECT_TRUE(source.read_epoch({&first, 1}, epoch, batch).empty());
  return batch;
}

TEST(segmentation, pictures_and_masks_are_changed_alike) {
  const TemporaryFolder folder;
  write_pairs(folder.path(), "masks", 2, 255);
  const SegmentationFolder found = read_segmentation_folder(folder.path());
  ImageInput input{.channels = 1, .height = 16, .width = 16};
  input.augment = "resized_crop(0.4), flip(0.5, 0.5), crop(3), rotate(30)";
  std::set<double> shares;
  for (std::int64_t epoch = 0; epoch < 40; ++epoch) {
    const std::vector<Tensor> batch = sample(found, input, epoch);
    std::int64_t agree = 0, known = 0, foreground = 0;
    for (std::int64_t i = 0; i < 256; ++i) {
      const double label = batch[1].at(i);
      if (label == -100) continue;
      ++known;
      foreground += label == 1;
      agree += (batch[0].at(i) > 110.0 / 255) == (label == 1);
    }
    EXPECT_GE(agree, known * 9 / 10) << epoch;  // edges are mixed in pictures and not in masks
    shares.insert(static_cast<double>(foreground));
  }
  EXPECT_GT(shares.size(), 10U);
}

TEST(segmentation, whole_pictures_are_resized_and_unknown_pixels_count_for_nothing) {
  const TemporaryFolder folder;
  write_pairs(folder.path(), "masks", 2, 2, 255);
  std::filesystem::create_directories(folder / "wide/images");
  const SegmentationFolder found = read_segmentation_folder(folder.path());
  EXPECT_EQ(found.classes, 3);
  const std::vector<Tensor> batch = sample(found, {.channels = 3, .height = 8, .width = 4}, 0);
  EXPECT_EQ(batch[1].type(), TensorType::parse("i64[1,8,4]"));
  for (std::int64_t i = 0; i < 32; ++i)
    EXPECT_EQ(batch[1].at(i), i / 4 < 4 && i % 4 < 2 ? 2 : -100);
}

TEST(segmentation, a_mask_of_another_size_is_damaged) {
  const TemporaryFolder folder;
  write_pairs(folder.path(), "masks", 4, 255);
  const SegmentationFolder found = read_segmentation_folder(folder.path(), {.test_share = 0});
  write_file(found.training[1].mask, encode_png(quadrant(255, 0, 8, 16)));
  const auto source = std::make_shared<ImageSource>(
      found.training, true, ImageInput{.channels = 1, .height = 8, .width = 8});
  BatchLoader loader(source, {.batch = 4, .shuffle = false, .keep_last = true, .epochs = 1});
  EXPECT_EQ(loader.next()->tensors[0].dims()[0], 3);
  EXPECT_EQ(source->damaged(), 1);
}

TEST(segmentation, changes_that_cannot_move_masks_are_refused) {
  const TemporaryFolder folder;
  write_pairs(folder.path(), "masks", 2, 255);
  const SegmentationFolder found = read_segmentation_folder(folder.path());
  ImageInput input{.channels = 1, .height = 8, .width = 8};
  input.augment = "mixup";
  EXPECT_THROW(ImageSource(found.training, true, input), UsageError);
}

}  // namespace
}  // namespace narrowgauge::segmentation_test
