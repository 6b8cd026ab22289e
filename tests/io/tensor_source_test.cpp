// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "narrowgauge/data.h"

namespace narrowgauge::tensor_source_test {
namespace {

DataSet small_set(std::int64_t channels) {
  DataSet set{.name = "small",
              .inputs = {{"images", Tensor(DType::u8, {3, channels, 2, 3})}},
              .targets = {{"labels", Tensor::from<std::int64_t>({3}, {2, 0, 1})}},
              .classes = 3};
  std::int64_t value = 0;
  for (std::uint8_t& pixel : set.inputs[0].tensor.values<std::uint8_t>())
    pixel = static_cast<std::uint8_t>(value = (value * 7 + 31) % 256);
  return set;
}

std::vector<Tensor> read(DataSource& source, const std::vector<std::int64_t>& indices) {
  std::vector<Tensor> batch;
  for (const TensorType& type : source.sample_types()) {
    Dims dims = known_dims(type.shape);
    dims.insert(dims.begin(), static_cast<std::int64_t>(indices.size()));
    batch.emplace_back(type.dtype, dims);
  }
  source.read(indices, batch);
  return batch;
}

TEST(tensor_source, rows_of_every_column_are_copied) {
  const auto bytes = Tensor::from<std::uint8_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto numbers = Tensor::from<double>({3}, {0.5, 1.5, 2.5});
  TensorSource source({bytes, numbers});
  EXPECT_EQ(source.size(), 3);
  EXPECT_EQ(source.sample_types(), (TensorTypes{{DType::u8, {2}}, {DType::f64, {}}}));
  const std::vector<Tensor> batch = read(source, {2, 0, 2, 1});
  EXPECT_TRUE(batch[0].same_bits(Tensor::from<std::uint8_t>({4, 2}, {5, 6, 1, 2, 5, 6, 3, 4})));
  EXPECT_TRUE(batch[1].same_bits(Tensor::from<double>({4}, {2.5, 0.5, 2.5, 1.5})));
}

TEST(tensor_source, labels_of_one_byte_are_widened_in_batches) {
  DataSet set = small_set(1);
  set.targets[0].tensor = Tensor::from<std::uint8_t>({3}, {2, 0, 255});
  TensorSource source(set, {});
  EXPECT_EQ(source.sample_types()[1], (TensorType{DType::i64, {}}));
  const std::vector<Tensor> batch = read(source, {2, 0, 2, 1});
  EXPECT_TRUE(batch[1].same_bits(Tensor::from<std::int64_t>({4}, {255, 2, 255, 0})));
  set.targets[0].tensor = Tensor(DType::f64, {3});
  EXPECT_THROW(TensorSource(set, {}), UsageError);
  set.targets[0].tensor = Tensor::from<float>({3, 1}, {0.5F, 1.5F, 2.5F});
  TensorSource of_numbers(set, {});
  EXPECT_EQ(of_numbers.sample_types()[1], (TensorType{DType::f32, {1}}));
  EXPECT_TRUE(read(of_numbers, {2, 0})[1].same_bits(Tensor::from<float>({2, 1}, {2.5F, 0.5F})));
}

TEST(tensor_source, bytes_are_scaled_normalized_and_padded_with_black) {
  const DataSet set = small_set(2);
  TensorSource source(set,
                      {.height = 5, .width = 4, .mean = {0.25f, 0.5f}, .deviation = {0.5f, 2.0f}});
  EXPECT_EQ(source.sample_types(), (TensorTypes{{DType::f32, {2, 5, 4}}, {DType::i64, {}}}));
  const std::vector<Tensor> batch = read(source, {1, 2});
  EXPECT_EQ(batch[1].at(0), 0);
  EXPECT_EQ(batch[1].at(1), 1);
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t y = 0; y < 5; ++y)
        for (std::int64_t x = 0; x < 4; ++x) {
          const bool inside = y >= 1 && y < 3 && x < 3;  // 5 - 2 rows: one above, two below
          const double pixel =
              inside ? set.input().at((((n + 1) * 2 + c) * 2 + (y - 1)) * 3 + x) : 0.0;
          const double expected = (pixel / 255 - (c ? 0.5 : 0.25)) / (c ? 2.0 : 0.5);
          EXPECT_NEAR(batch[0].at(((n * 2 + c) * 5 + y) * 4 + x), expected, 1e-6);
        }
}

TEST(tensor_source, an_only_channel_is_repeated) {
  const DataSet set = small_set(1);
  TensorSource source(set, {.channels = 3});
  const std::vector<Tensor> batch = read(source, {0});
  EXPECT_EQ(batch[0].type(), TensorType::parse("f32[1,3,2,3]"));
  for (std::int64_t i = 0; i < 18; ++i)
    EXPECT_FLOAT_EQ(static_cast<float>(batch[0].at(i)),
                    static_cast<float>(set.input().at(i % 6)) / 255.0f);
}

TEST(tensor_source, float_images_are_normalized_without_scaling) {
  DataSet set = small_set(1);
  set.inputs[0].tensor = set.input().cast(DType::f32);
  TensorSource source(set, {.mean = {10.0f}, .deviation = {4.0f}});
  const std::vector<Tensor> batch = read(source, {2});
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(batch[0].at(i), (set.input().at(12 + i) - 10) / 4);
}

// Images [N,H,W,C] whose channels are 10, 20, .. more than the pixel's number.
Tensor images_last(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Tensor images(DType::u8, {2, height, width, channels});
  for (std::int64_t i = 0; i < images.size(); ++i)
    images.set(i, static_cast<double>(i / channels % 100 + 10 * (i % channels)));
  return images;
}

TEST(tensor_source, channels_that_stand_last_are_found_by_the_sides) {
  for (const Dims& last : {Dims{9, 28, 28, 1}, {9, 32, 32, 3}, {9, 8, 8, 1}, {9, 64, 96, 4}})
    EXPECT_EQ(image_layout(last), ImageLayout::nhwc) << last[3];
  for (const Dims& first : {Dims{9, 1, 28, 28},
                            {9, 3, 32, 32},
                            {9, 3, 32, 3},
                            {9, 13, 1, 1},
                            {9, 16, 4, 4},
                            {9, 64, 7, 7},
                            {9, 2, 100, 1},
                            {9, 28, 28},
                            {9, 28}})
    EXPECT_EQ(image_layout(first), ImageLayout::nchw) << first[1];
}

TEST(tensor_source, channels_that_stand_last_are_put_first_unless_the_layout_is_given) {
  for (const std::int64_t channels : {1, 3, 4}) {
    DataSet set = small_set(1);
    set.inputs[0].tensor = images_last(8, 9, channels);
    set.targets[0].tensor = Tensor::from<std::int64_t>({2}, {0, 1});
    TensorSource source(set, {.mean = {0.5f}});
    EXPECT_EQ(source.sample_types()[0], (TensorType{DType::f32, {channels, 8, 9}}));
    const std::vector<Tensor> batch = read(source, {0});
    for (std::int64_t c = 0; c < channels; ++c)
      EXPECT_FLOAT_EQ(static_cast<float>(batch[0].at(c * 72 + 5)),
                      static_cast<float>(5 + 10 * c) / 255.0f - 0.5f);
    EXPECT_EQ(channel_statistics(set.input()).mean.size(), static_cast<std::size_t>(channels));
    EXPECT_EQ(channel_statistics(set.input(), ImageLayout::nchw).mean.size(), 8U);
    TensorSource as_said(set, {.layout = ImageLayout::nchw});
    EXPECT_EQ(as_said.sample_types()[0], (TensorType{DType::f32, {8, 9, channels}}));
  }
  DataSet small = small_set(1);
  small.inputs[0].tensor = images_last(2, 4, 3);
  small.targets[0].tensor = Tensor::from<std::int64_t>({2}, {0, 1});
  EXPECT_EQ(TensorSource(small, {.layout = ImageLayout::nhwc}).sample_types()[0],
            (TensorType{DType::f32, {3, 2, 4}}));
  EXPECT_THROW(channels_first(Tensor(DType::u8, {2, 3, 4})), UsageError);
}

TEST(tensor_source, misfits_are_usage_errors) {
  const DataSet set = small_set(2);
  EXPECT_THROW(TensorSource(set, {.height = 1}), UsageError);
  EXPECT_THROW(TensorSource(set, {.channels = 3}), UsageError);
  EXPECT_THROW(TensorSource(set, {.mean = {0, 0, 0}}), UsageError);
  EXPECT_THROW(TensorSource(set, {.deviation = {0.0f}}), UsageError);
  EXPECT_THROW(TensorSource({Tensor(DType::u8, {2}), Tensor(DType::u8, {3})}), UsageError);
  EXPECT_THROW(TensorSource(std::vector<Tensor>{}), UsageError);
  TensorSource source(set, {});
  EXPECT_THROW(read(source, {3}), UsageError);
  EXPECT_THROW(read(source, {-1}), UsageError);
}

TEST(tensor_source, a_set_of_any_tensors_is_given_as_it_is) {
  DataSet set{.name = "many",
              .inputs = {{"tokens", Tensor::from<std::int64_t>({2, 3}, {1, 2, 3, 4, 5, 6})},
                         {"mask", Tensor(DType::boolean, {2, 3})}},
              .targets = {{"value", Tensor::from<float>({2, 1}, {0.5F, 1.5F})}}};
  TensorSource source(set);
  EXPECT_EQ(source.size(), 2);
  EXPECT_EQ(source.sample_types(),
            (TensorTypes{TensorType::parse("i64[3]"), TensorType::parse("bool[3]"),
                         TensorType::parse("f32[1]")}));
  EXPECT_EQ(read(source, {1})[0].at(2), 6);
  EXPECT_EQ(read(source, {1})[2].at(0), 1.5);
  EXPECT_THROW(set.input(), UsageError);  // there are two
  EXPECT_THROW(TensorSource(set, {}), UsageError);
  set.inputs.pop_back();
  EXPECT_EQ(set.size(), 2);
}

TEST(channel_statistics, are_those_of_the_normalized_values) {
  const DataSet set = small_set(2);
  const ChannelStatistics statistics = channel_statistics(set.input());
  ASSERT_EQ(statistics.mean.size(), 2u);
  TensorSource source(set, {.mean = statistics.mean, .deviation = statistics.deviation});
  const Tensor images = read(source, {0, 1, 2})[0];
  for (std::int64_t c = 0; c < 2; ++c) {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < 18; ++i) {
      const double x = images.at((i / 6 * 2 + c) * 6 + i % 6);
      sum += x, squares += x * x;
    }
    EXPECT_NEAR(sum / 18, 0, 1e-6);
    EXPECT_NEAR(squares / 18, 1, 1e-5);
  }
  EXPECT_THROW(channel_statistics(Tensor(DType::f64, {1, 1, 1, 1})), UsageError);
}

}  // namespace
}  // namespace narrowgauge::tensor_source_test
