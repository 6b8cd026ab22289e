// SPDX-License-Identifier: Apache-2.0
// What random changes of pictures do, and that they are functions of seed, epoch and sample.
#include "io/augment/augmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "narrowgauge/error.h"
#include "narrowgauge/images.h"

namespace narrowgauge::augmentation_test {
namespace {

// Pixels 0, 1, 2, ... of H x W x C.
AugmentedImage counted(std::int64_t height, std::int64_t width, std::int64_t channels,
                       std::int64_t label = 0) {
  AugmentedImage image{Tensor(DType::f32, {height, width, channels}), label};
  std::iota(image.pixels.values<float>().begin(), image.pixels.values<float>().end(), 0.0f);
  return image;
}

std::vector<float> values_of(const AugmentedImage& image) {
  const auto values = image.pixels.values<float>();
  return {values.begin(), values.end()};
}

AugmentedImage changed(const std::string& text, AugmentedImage image, std::int64_t sample = 0,
                       std::int64_t epoch = 0) {
  Draws draws(1, epoch, sample);
  const std::vector<float> mean{10, 20, 30};
  AugmentContext context{draws, mean, 5, [](std::int64_t index) {
                           return AugmentedImage{Tensor(DType::f32, {4, 4, 1}), 100 + index};
                         }};
  for (const auto& change : parse_augmentations(text)) change->change(image, context);
  return image;
}

std::string refusal(const std::string& text) {
  try {
    parse_augmentations(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(augmentation, lists_are_read_with_numbers_in_order_or_by_name) {
  EXPECT_EQ(parse_augmentations("").size(), 0U);
  EXPECT_EQ(parse_augmentations(" flip , crop( 4 ),resized_crop(least=0.2, most = 0.9)").size(),
            3U);
  for (const char* wrong :
       {"flip,", "flip()x", "crop(", "crop(4", "crop(x)", "crop(nan)", "crop(4, 5)", "crop(size=4)",
        "crop(4, padding=5)", "crop(-1)", "resized_crop(0.9, 0.2)", "mixup(0)", "(4)"})
    EXPECT_NE(refusal(wrong), "none") << wrong;
  EXPECT_NE(refusal("flop").find("did you mean flip?"), std::string::npos);
}

TEST(augmentation, flip_mirrors_each_way) {
  EXPECT_EQ(values_of(changed("flip(1)", counted(2, 3, 1))),
            (std::vector<float>{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(values_of(changed("flip(0, over=1)", counted(2, 3, 1))),
            (std::vector<float>{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(values_of(changed("flip(1)", counted(1, 2, 3))),
            (std::vector<float>{3, 4, 5, 0, 1, 2}));
  int flipped = 0;
  for (std::int64_t sample = 0; sample < 1000; ++sample)
    flipped += values_of(changed("flip", counted(1, 2, 1), sample))[0] == 1;
  EXPECT_NEAR(flipped, 500, 60);
}

TEST(augmentation, crop_moves_by_any_distance_up_to_its_padding) {
  bool seen[3][3] = {};
  for (std::int64_t sample = 0; sample < 200; ++sample) {
    const AugmentedImage image = changed("crop(1)", counted(5, 5, 1), sample);
    // The pixel in the middle, 12, is at the middle less the distance.
    for (std::int64_t down = -1; down <= 1; ++down)
      for (std::int64_t right = -1; right <= 1; ++right)
        if (image.pixels.at((2 + down) * 5 + 2 + right) == 12) {
          seen[down + 1][right + 1] = true;
          for (std::int64_t y = 0; y < 5; ++y)
            for (std::int64_t x = 0; x < 5; ++x) {
              const std::int64_t from_y = y - down, from_x = x - right;
              const bool inside = from_y >= 0 && from_y < 5 && from_x >= 0 && from_x < 5;
              EXPECT_EQ(image.pixels.at(y * 5 + x),
                        inside ? static_cast<double>(from_y * 5 + from_x) : 0.0);
            }
        }
  }
  for (const auto& row : seen)
    for (const bool place : row) EXPECT_TRUE(place);
}

TEST(augmentation, resized_crop_keeps_to_its_areas_and_shapes) {
  const auto changes = parse_augmentations("resized_crop(0.2, 0.6)");
  double least = 1, most = 0;
  for (std::int64_t sample = 0; sample < 500; ++sample) {
    Draws draws(3, 0, sample);
    const ImageBox box = changes[0]->cut({480, 640}, draws).value();
    const double height = box.bottom - box.top, width = box.right - box.left;
    const double share = height * width / (480 * 640);
    least = std::min(least, share);
    most = std::max(most, share);
    EXPECT_GE(width / height, 0.75 - 0.01);
    EXPECT_LE(width / height, 4.0 / 3 + 0.01);
    EXPECT_GE(box.top, 0);
    EXPECT_GE(box.left, 0);
    EXPECT_LE(box.bottom, 480);
    EXPECT_LE(box.right, 640);
  }
  EXPECT_NEAR(least, 0.2, 0.02);
  EXPECT_NEAR(most, 0.6, 0.02);
  Draws draws(3, 0, 0);
  const ImageBox narrow =
      parse_augmentations("resized_crop(1, 1)")[0]->cut({100, 10}, draws).value();
  EXPECT_EQ(narrow.right - narrow.left, 10);
  EXPECT_EQ(narrow.bottom - narrow.top, 13);  // the tallest shape that is allowed
}

TEST(augmentation, rotate_turns_about_the_middle_and_brings_the_mean_in) {
  AugmentedImage image{Tensor(DType::f32, {9, 9, 1}), 0};
  std::ranges::fill(image.pixels.values<float>(), 50.0f);
  image.pixels.set(4 * 9 + 4, 200);
  bool moved = false;
  for (std::int64_t sample = 0; sample < 20; ++sample) {
    const AugmentedImage turned = changed("rotate(45)", image, sample);
    EXPECT_NEAR(turned.pixels.at(4 * 9 + 4), 200, 1e-3);
    moved |= std::abs(turned.pixels.at(0) - 10) < 1;  // a corner out of the picture
  }
  EXPECT_TRUE(moved);
  EXPECT_EQ(values_of(changed("rotate(0)", counted(3, 3, 1))), values_of(counted(3, 3, 1)));
}

TEST(augmentation, colours_stay_in_range_and_zero_strength_changes_nothing) {
  EXPECT_EQ(values_of(changed("colour(0)", counted(4, 4, 3))), values_of(counted(4, 4, 3)));
  double least = 1e9, most = 0;
  for (std::int64_t sample = 0; sample < 200; ++sample) {
    AugmentedImage image{Tensor(DType::f32, {2, 2, 3}), 0};
    std::ranges::fill(image.pixels.values<float>(), 100.0f);
    const AugmentedImage bright = changed("colour(0.5)", image, sample);
    for (const float value : bright.pixels.values<float>()) {
      EXPECT_GE(value, 0);
      EXPECT_LE(value, 255);
    }
    least = std::min(least, bright.pixels.at(0));
    most = std::max(most, bright.pixels.at(0));
  }
  EXPECT_NEAR(least, 50, 3);  // brightness alone moves a picture of one grey
  EXPECT_NEAR(most, 150, 3);
}

TEST(augmentation, cutout_hides_a_square) {
  for (std::int64_t sample = 0; sample < 50; ++sample) {
    AugmentedImage image{Tensor(DType::f32, {8, 8, 3}), 0};
    const AugmentedImage cut = changed("cutout(4)", image, sample);
    std::int64_t hidden = 0;
    for (std::int64_t i = 0; i < 64; ++i) {
      if (cut.pixels.at(3 * i) == 0) continue;
      ++hidden;
      EXPECT_EQ(cut.pixels.at(3 * i), 10);
      EXPECT_EQ(cut.pixels.at(3 * i + 2), 30);
    }
    EXPECT_GE(hidden, 4);  // a corner of it at least
    EXPECT_LE(hidden, 16);
  }
}

TEST(augmentation, mixup_mixes_pixels_and_draws_the_label_by_their_shares) {
  double shares = 0, kept = 0;
  const int samples = 4000;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    AugmentedImage image{Tensor(DType::f32, {4, 4, 1}), 7};
    std::ranges::fill(image.pixels.values<float>(), 100.0f);
    const AugmentedImage mixed = changed("mixup(0.5)", image, sample);  // with black
    shares += mixed.pixels.at(0) / 100;
    kept += mixed.label == 7;
    EXPECT_TRUE(mixed.label == 7 || (mixed.label >= 100 && mixed.label < 105));
  }
  EXPECT_NEAR(shares / samples, 0.5, 0.02);
  EXPECT_NEAR(kept / samples, shares / samples, 0.02);
}

TEST(augmentation, draws_are_a_function_of_seed_epoch_and_sample) {
  const auto first = [](std::uint64_t seed, std::int64_t epoch, std::int64_t sample) {
    Draws draws(seed, epoch, sample);
    return draws.uniform(0, 1);
  };
  EXPECT_EQ(first(1, 2, 3), first(1, 2, 3));
  EXPECT_NE(first(1, 2, 3), first(2, 2, 3));
  EXPECT_NE(first(1, 2, 3), first(1, 3, 3));
  EXPECT_NE(first(1, 2, 3), first(1, 2, 4));
}

TEST(augmentation, the_gamma_distribution_has_its_mean_and_variance) {
  for (const double shape : {0.2, 1.0, 3.0}) {
    double sum = 0, squares = 0;
    const int count = 20000;
    for (std::int64_t sample = 0; sample < count; ++sample) {
      Draws draws(5, 0, sample);
      const double x = draws.gamma(shape);
      sum += x;
      squares += x * x;
    }
    const double mean = sum / count, variance = squares / count - mean * mean;
    EXPECT_NEAR(mean, shape, 0.05 * std::sqrt(shape) + 0.01);
    EXPECT_NEAR(variance, shape, 0.1 * shape + 0.02);
  }
}

TEST(augmentation, the_help_names_all_with_their_numbers) {
  for (const AugmentationRule* rule : augmentations()) {
    EXPECT_NE(augmentation_help().find(concat(rule->name, rule->arguments)), std::string::npos);
    EXPECT_EQ(parse_augmentations(concat(rule->name, rule->arguments)).size(), 1U);
  }
}

}  // namespace
}  // namespace narrowgauge::augmentation_test
