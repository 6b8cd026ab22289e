// SPDX-License-Identifier: Apache-2.0
// Pictures as inputs of a network.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "io/images/resize.h"
#include "io/picture_folder.h"
#include "io/pictures/image.h"
#include "narrowgauge/images.h"
#include "narrowgauge/log.h"

namespace narrowgauge::image_source_test {
namespace {

using testing_files::png_of;
using testing_files::TemporaryFolder;
using testing_files::write_file;
using testing_files::write_pictures;

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::equal(a.data(), a.data() + a.bytes(), b.data());
}

class image_source : public testing::Test {
 protected:
  image_source() {
    write_pictures(folder_.path(), 8);
    const ImageFolder found = read_image_folder(folder_.path(), {.test_share = 1});
    files_ = found.test;
    set_log_sink([this](LogLevel, const std::string& text) {
      const std::lock_guard lock(mutex_);
      log_.push_back(text);
    });
  }
  ~image_source() override { set_log_sink({}); }

  std::vector<Batch> batches(const ImageInput& input, BatchOptions options) const {
    BatchLoader loader(std::make_shared<ImageSource>(files_, input), options);
    std::vector<Batch> all;
    while (std::optional<Batch> batch = loader.next()) all.push_back(*std::move(batch));
    return all;
  }
  std::vector<std::int64_t> labels(const std::vector<Batch>& all) const {
    std::vector<std::int64_t> result;
    for (const Batch& batch : all)
      for (const std::int64_t label : batch.tensors[1].values<std::int64_t>())
        result.push_back(label);
    return result;
  }
  void damage(std::size_t index) {
    const std::string whole = testing_files::read_file(files_[index].path);
    write_file(files_[index].path, whole.substr(0, whole.size() / 2));
  }

  TemporaryFolder folder_;
  std::vector<ImageFile> files_;
  std::mutex mutex_;
  std::vector<std::string> log_;
};

constexpr BatchOptions in_order{.batch = 5, .shuffle = false, .keep_last = true, .epochs = 1};

TEST_F(image_source, the_middle_is_resized_and_normalized) {
  ImageInput input{.channels = 3, .height = 12, .width = 12};
  input.statistics = {{0.1f, 0.2f, 0.3f}, {0.5f, 0.25f, 0.125f}};
  const std::vector<Batch> all = batches(input, in_order);
  ASSERT_EQ(all.size(), 7U);
  EXPECT_EQ(all[0].tensors[0].type(), TensorType::parse("f32[5,3,12,12]"));
  EXPECT_EQ(all[6].tensors[0].dims()[0], 2);
  const Tensor picture = read_image(files_[1].path, ImageColours::rgb);
  const Tensor expected = resized_image(picture, {0, 4, 24, 28}, 12, 12);
  for (std::int64_t i = 0; i < 144; ++i)
    for (std::int64_t c = 0; c < 3; ++c) {
      const auto channel = static_cast<std::size_t>(c);
      const double pixel = expected.at(i * 3 + c) / 255;
      EXPECT_NEAR(all[0].tensors[0].at(3 * 144 + c * 144 + i),
                  (pixel - input.statistics.mean[channel]) / input.statistics.deviation[channel],
                  2e-5);
    }
  EXPECT_TRUE(std::ranges::is_sorted(labels(all)));
}

TEST_F(image_source, grey_is_one_channel) {
  const std::vector<Batch> all = batches({.channels = 1, .height = 24, .width = 32}, in_order);
  const Tensor picture = read_image(files_[0].path, ImageColours::grey);
  for (std::int64_t i = 0; i < 24 * 32; ++i)
    EXPECT_NEAR(all[0].tensors[0].at(i), picture.at(i) / 255, 1e-6);
}

TEST_F(image_source, changes_differ_by_epoch_and_do_not_depend_on_threads) {
  ImageInput input{.channels = 3, .height = 16, .width = 16};
  input.augment = "resized_crop(0.3), flip, rotate(10), colour, cutout(4), mixup(0.4)";
  BatchOptions options{.batch = 8, .shuffle = true, .epochs = 2, .threads = 1};
  const std::vector<Batch> alone = batches(input, options);
  options.threads = 3;
  const std::vector<Batch> several = batches(input, options);
  ASSERT_EQ(alone.size(), 8U);
  ASSERT_EQ(several.size(), 8U);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].position, several[i].position);
    for (std::size_t k = 0; k < 2; ++k)
      EXPECT_TRUE(same_bytes(alone[i].tensors[k], several[i].tensors[k]));
  }
  ImageSource source(files_, input);
  const std::int64_t first = 0;
  Tensor a(DType::f32, {1, 3, 16, 16}), b = Tensor(DType::f32, {1, 3, 16, 16}),
                                        label(DType::i64, {1});
  std::vector<Tensor> one{a, label}, two{b, label};
  source.read_epoch({&first, 1}, 0, one);
  source.read_epoch({&first, 1}, 1, two);
  EXPECT_FALSE(same_bytes(one[0], two[0]));
}

TEST_F(image_source, damaged_pictures_are_left_out_where_each_counts_once) {
  damage(3);
  damage(10);
  const std::vector<Batch> all = batches({.channels = 3, .height = 8, .width = 8}, in_order);
  std::int64_t samples = 0;
  for (const Batch& batch : all) samples += batch.tensors[0].dims()[0];
  EXPECT_EQ(samples, 30);
  EXPECT_EQ(all[0].tensors[0].dims()[0], 4);
  const std::vector<std::int64_t> found = labels(all);
  EXPECT_EQ(std::ranges::count(found, 0), 7);
  EXPECT_EQ(std::ranges::count(found, 1), 7);
  EXPECT_EQ(log_.size(), 2U);
}

TEST_F(image_source, damaged_pictures_are_replaced_in_training_and_warned_of_once) {
  damage(0);
  const auto source =
      std::make_shared<ImageSource>(files_, ImageInput{.channels = 3, .height = 8, .width = 8});
  BatchLoader loader(source, {.batch = 16, .shuffle = true, .epochs = 3});
  int count = 0;
  while (const std::optional<Batch> batch = loader.next()) {
    EXPECT_EQ(batch->tensors[0].dims()[0], 16);
    ++count;
  }
  EXPECT_EQ(count, 6);
  EXPECT_EQ(source->damaged(), 1);
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find(files_[0].path), std::string::npos);
}

TEST_F(image_source, strictly_a_damaged_picture_is_an_error) {
  damage(2);
  ImageInput input{.channels = 3, .height = 8, .width = 8};
  input.strict = true;
  EXPECT_THROW(batches(input, in_order), DataError);
}

TEST_F(image_source, where_all_are_damaged_it_says_so) {
  for (std::size_t i = 0; i < files_.size(); ++i) damage(i);
  const ImageInput input{.channels = 3, .height = 8, .width = 8};
  EXPECT_TRUE(batches(input, in_order).empty());
  EXPECT_EQ(log_.size(), 11U);  // ten, and that the others are only counted
  EXPECT_THROW(batches(input, {.batch = 4, .epochs = 1}), DataError);
  EXPECT_THROW(channel_statistics(files_, input), DataError);
}

TEST_F(image_source, statistics_are_those_of_the_inputs) {
  const ImageInput input{.channels = 3, .height = 6, .width = 6};
  const ChannelStatistics found = channel_statistics(files_, input);
  double sum = 0, squares = 0, count = 0;
  for (const Batch& batch : batches(input, in_order))
    for (std::int64_t n = 0; n < batch.tensors[0].dims()[0]; ++n)
      for (std::int64_t i = 0; i < 36; ++i) {
        const double x = batch.tensors[0].at((n * 3 + 1) * 36 + i);
        sum += x, squares += x * x, ++count;
      }
  EXPECT_NEAR(found.mean[1], sum / count, 1e-6);
  EXPECT_NEAR(found.deviation[1], std::sqrt(squares / count - sum * sum / count / count), 1e-5);
}

TEST_F(image_source, sets_in_memory_are_changed_in_their_size_and_small_ones_get_black_around) {
  DataSet set;
  set.name = "tiny";
  set.classes = 2;
  set.inputs = {
      {"images", Tensor::from<std::uint8_t>({1, 1, 1, 2}, std::vector<std::uint8_t>{51, 102})}};
  set.targets = {{"labels", Tensor::from<std::int64_t>({1}, std::vector<std::int64_t>{1})}};
  ImageSource source(set, {.channels = 3, .height = 3, .width = 2});
  const std::int64_t first = 0;
  std::vector<Tensor> batch{Tensor(DType::f32, {1, 3, 3, 2}), Tensor(DType::i64, {1})};
  source.read({&first, 1}, batch);
  const std::vector<float> expected{0, 0, 0.2f, 0.4f, 0, 0};
  for (std::int64_t c = 0; c < 3; ++c)
    for (std::int64_t i = 0; i < 6; ++i)
      EXPECT_NEAR(batch[0].at(c * 6 + i), expected[static_cast<std::size_t>(i)], 1e-6);
  EXPECT_EQ(batch[1].at(0), 1);
}

TEST_F(image_source, inputs_that_make_no_sense_are_refused) {
  const auto make = [&](const ImageInput& input) { ImageSource(files_, input); };
  EXPECT_THROW(make({.channels = 2}), UsageError);
  EXPECT_THROW(make({.height = 0}), UsageError);
  EXPECT_THROW(make({.statistics = {{0, 0}, {1}}}), UsageError);
  EXPECT_THROW(make({.statistics = {{0}, {0}}}), UsageError);
  EXPECT_THROW(make({.augment = "flop"}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::image_source_test
