// SPDX-License-Identifier: Apache-2.0
// Engines that take pixels answer as those that take what a data source makes of the pixels.
#include "api/conversion/pixel_input.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "io/files.h"
#include "narrowgauge/models.h"

namespace narrowgauge::pixel_input_test {
namespace {

constexpr std::int64_t count = 12;

BuildNetwork network_of(ImageShape image) {
  return [image](Network& net) {
    Value x = net.input("images", {net.batch(), image.channels, image.height, image.width});
    x = net.relu(net.batch_norm(net.conv(x, 8, {.stride = 2}, "first")));
    return net.linear(net.flatten(net.global_average_pool(x)), 10, "logits");
  };
}

DataSet pictures(ImageShape picture) {
  Tensor pixels(DType::u8, {count, picture.channels, picture.height, picture.width});
  std::uint32_t noise = 7;
  for (std::uint8_t& pixel : pixels.values<std::uint8_t>()) {
    noise = noise * 1664525 + 1013904223;
    pixel = static_cast<std::uint8_t>(noise >> 24);
  }
  DataSet set{.name = "pictures", .inputs = {{"images", pixels}}, .targets = {}, .classes = 10};
  set.targets = {{"labels", Tensor(DType::i64, {count})}};
  return set;
}

Tensor all_images(DataSource& source) {
  std::vector<std::int64_t> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<Tensor> batch;
  for (const TensorType& type : source.sample_types()) {
    Dims dims{count};
    for (const Dim& dim : type.shape) dims.push_back(dim.value());
    batch.emplace_back(type.dtype, dims);
  }
  source.read(indices, batch);
  return batch[0];
}

Tensor channels_last(const Tensor& x) {
  const Dims& dims = x.dims();
  Tensor made(x.dtype(), {dims[0], dims[2], dims[3], dims[1]});
  const std::int64_t side = dims[2] * dims[3];
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::int64_t n = i / side / dims[1], c = i / side % dims[1];
    made.set((n * side + i % side) * dims[1] + c, x.at(i));
  }
  return made;
}

// Root of mean squares of the difference, over that of what is wanted.
double error_of(const Tensor& got, const Tensor& want) {
  EXPECT_EQ(got.dims(), want.dims());
  double errors = 0, squares = 0;
  for (std::int64_t i = 0; i < want.size(); ++i) {
    errors += std::pow(got.at(i) - want.at(i), 2);
    squares += std::pow(want.at(i), 2);
  }
  return std::sqrt(errors / squares);
}

// Expects the same answers to pictures that the transform makes images of the network: by engines
// in f32 and on bytes, with channels first and last, as they are and from a file.
void expect_same_answers(ImageShape picture, ImageShape image, const ImageTransform& transform) {
  const testing_files::TemporaryFolder folder;
  const DataSet set = pictures(picture);
  const auto source = std::make_shared<TensorSource>(set, transform);
  const Tensor images = all_images(*source);
  Model model("small", network_of(image));
  for (const auto& [precision, bound] :
       {std::pair(EnginePrecision::f32, 2e-6), std::pair(EnginePrecision::int8, 5e-3)}) {
    ConvertOptions options;
    options.precision = precision;
    options.calibration = source;
    const Engine plain = convert(model, options);
    const Tensor want = plain.predict(images);
    for (const bool last : {false, true}) {
      options.pixels = EnginePixels{.channels_last = last,
                                    .channels = picture.channels,
                                    .height = picture.height,
                                    .width = picture.width,
                                    .mean = transform.mean,
                                    .deviation = transform.deviation};
      const Engine engine = convert(model, options);
      const Tensor pixels = last ? channels_last(set.input()) : set.input();
      EXPECT_EQ(engine.inputs().at(0).type->dtype, DType::u8);
      const Tensor got = engine.predict(pixels);
      EXPECT_LT(error_of(got, want), bound) << name(precision) << (last ? " last" : " first");
      EXPECT_EQ(engine.report().after.error, plain.report().after.error);
      EXPECT_EQ(engine.report().after.accuracy, plain.report().after.accuracy);
      engine.save(folder / "engine.onnx");
      EXPECT_TRUE(Engine::open(folder / "engine.onnx").predict(pixels).same_bits(got))
          << name(precision) << (last ? " last" : " first");
    }
  }
}

TEST(PixelInput, colours_with_numbers_for_each_channel) {
  expect_same_answers({3, 12, 10}, {3, 12, 10},
                      {.mean = {0.485f, 0.456f, 0.406f}, .deviation = {0.229f, 0.224f, 0.225f}});
}

TEST(PixelInput, grey_pictures_with_black_around_them_become_colours) {
  expect_same_answers(
      {1, 9, 12}, {3, 12, 15},
      {.height = 12, .width = 15, .channels = 3, .mean = {0.3f, 0.4f, 0.5f}, .deviation = {0.2f}});
}

TEST(PixelInput, narrow_engines_take_pixels) {
  const DataSet set = pictures({3, 8, 8});
  const auto source = std::make_shared<TensorSource>(set, ImageTransform{.mean = {0.5f}});
  Model model("small", network_of({3, 8, 8}));
  ConvertOptions options{.precision = EnginePrecision::bf16};
  const Tensor want = convert(model, options).predict(all_images(*source));
  options.pixels = EnginePixels{.channels_last = false, .mean = {0.5f}};
  EXPECT_LT(error_of(convert(model, options).predict(set.input()), want), 1e-2);
}

TEST(PixelInput, refuses_what_it_cannot_make) {
  const auto refused = [](const BuildNetwork& network, const EnginePixels& pixels,
                          std::string_view text) {
    try {
      convert(Model("small", network), {.precision = EnginePrecision::f32, .pixels = pixels});
      ADD_FAILURE() << "accepted: " << text;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string_view(error.what()), text);
    }
  };
  const BuildNetwork network = network_of({3, 8, 8});
  refused(network, {.mean = {1, 2}}, "pixels: expected 1 or 3 numbers as mean, got 2");
  refused(network, {.deviation = {}}, "pixels: expected 1 or 3 numbers as deviation, got 0");
  refused(network, {.deviation = {1, 0, 1}}, "pixels: expected a deviation above 0, got 0");
  refused(network, {.mean = {NAN}}, "pixels: expected finite numbers as mean");
  refused(network, {.channels = 2},
          "pixels: the network takes 3 channels, which cannot be made of 2");
  refused(network, {.height = 9, .width = 8},
          "pixels: pictures of 9x8 do not fit into images of 8x8");
  const BuildNetwork rows = [](Network& net) {
    return net.linear(net.input("rows", {net.batch(), 4}), 2, "logits");
  };
  refused(rows, {},
          "pixels: expected a network that takes images f32[N,C,H,W], 'rows' is f32[N,4]");
}

}  // namespace
}  // namespace narrowgauge::pixel_input_test
