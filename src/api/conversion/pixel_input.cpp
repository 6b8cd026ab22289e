// SPDX-License-Identifier: Apache-2.0
#include "api/conversion/pixel_input.h"

#include <algorithm>
#include <cmath>

#include "ops/index/pad.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/cast.h"
#include "ops/shape/transpose.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

constexpr double largest_pixel = 255;

Value image_input(const Graph& graph) {
  const Values& inputs = graph.inputs();
  require(inputs.size() == 1, "pixels: expected a network of one input, of images, got ",
          inputs.size(), " inputs");
  const TensorType& type = graph.type(inputs[0]);
  require(type.dtype == DType::f32 && type.shape.size() == 4 && type.shape[1].is_known(),
          "pixels: expected a network that takes images f32[N,C,H,W], '",
          graph.value_name(inputs[0]), "' is ", type);
  return inputs[0];
}

// The shape [N,C,H,W] of the pictures from which such images are made.
Shape picture_shape(const Shape& image, const EnginePixels& pixels) {
  const std::int64_t channels = image[1].value();
  require(pixels.channels == 0 || pixels.channels == 1 || pixels.channels == channels,
          "pixels: the network takes ", channels, " channels, which cannot be made of ",
          pixels.channels);
  Shape shape = image;
  if (pixels.channels > 0) shape[1] = pixels.channels;
  for (const auto& [axis, size] : {std::pair(2, pixels.height), std::pair(3, pixels.width)}) {
    if (size == 0) continue;
    Dim& side = shape[static_cast<std::size_t>(axis)];
    require(side.is_known() && 0 < size && size <= side.value(), "pixels: pictures of ",
            pixels.height, "x", pixels.width, " do not fit into images of ", image[2], "x",
            image[3]);
    side = size;
  }
  return shape;
}

double of_channel(const std::vector<float>& numbers, std::int64_t channel) {
  return double{numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(channel)]};
}

void check_numbers(const EnginePixels& pixels, std::int64_t channels) {
  for (const auto& [what, numbers] :
       {std::pair("mean", &pixels.mean), std::pair("deviation", &pixels.deviation)}) {
    require(numbers->size() == 1 || std::ssize(*numbers) == channels, "pixels: expected 1 or ",
            channels, " numbers as ", what, ", got ", numbers->size());
    require(std::ranges::all_of(*numbers, [](float x) { return std::isfinite(x); }),
            "pixels: expected finite numbers as ", what);
  }
  for (const float deviation : pixels.deviation)
    require(deviation > 0, "pixels: expected a deviation above 0, got ", double{deviation});
}

class PixelInput {
 public:
  PixelInput(Graph& graph, std::string name) : graph_(graph), name_(std::move(name)) {}

  Value add(const Shape& image, const EnginePixels& pixels) {
    const Shape shape = picture_shape(image, pixels);
    const bool last = pixels.channels_last;
    value_ = graph_.input(
        name_, {DType::u8, last ? Shape{shape[0], shape[2], shape[3], shape[1]} : shape});
    if (last) append(Transpose{.perm = {0, 3, 1, 2}}, ".channels_first");
    if (shape[2] != image[2] || shape[3] != image[3]) put_black_around(shape, image);
    append(Cast{.to = DType::f32}, ".f32");
    normalize(pixels, image[1].value());
    return value_;
  }

 private:
  template <class T>
  void append(T op, const char* name, Values more = {}) {
    more.insert(more.begin(), value_);
    value_ = graph_.add(std::move(op), more, {.name = graph_.unique_name(name_ + name)});
  }

  Value constant(const Tensor& value, const char* name) {
    return graph_.constant(value, graph_.unique_name(name_ + name));
  }

  // Puts black around images as ImageTransform does.
  void put_black_around(const Shape& shape, const Shape& image) {
    Tensor pads(DType::i64, {8});
    for (std::size_t axis = 2; axis < 4; ++axis) {
      const std::int64_t more =
          shape[axis] == image[axis] ? 0 : image[axis].value() - shape[axis].value();
      pads.values<std::int64_t>()[axis] = more / 2;
      pads.values<std::int64_t>()[axis + 4] = more - more / 2;
    }
    append(Pad{}, ".padded", {constant(pads, ".pads")});
  }

  // The only channel of a grey picture is repeated by broadcasting.
  void normalize(const EnginePixels& pixels, std::int64_t channels) {
    Tensor scale(DType::f32, {1, channels, 1, 1}), shift(DType::f32, {1, channels, 1, 1});
    for (std::int64_t c = 0; c < channels; ++c) {
      const double deviation = of_channel(pixels.deviation, c);
      scale.set(c, 1 / (largest_pixel * deviation));
      shift.set(c, -of_channel(pixels.mean, c) / deviation);
    }
    append(Mul{}, ".scaled", {constant(scale, ".scale")});
    append(Add{}, ".normalized", {constant(shift, ".shift")});
  }

  Graph& graph_;
  std::string name_;
  Value value_;
};

}  // namespace

Graph with_pixels(const Graph& graph, const EnginePixels& pixels) {
  const Value input = image_input(graph);
  const Shape& image = graph.type(input).shape;
  check_numbers(pixels, image[1].value());
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i)
    if (i == input.node)
      rebuild.map(input, PixelInput(rebuild.graph(), graph.value_name(input)).add(image, pixels));
    else
      rebuild.copy(i);
  return rebuild.finish();
}

}  // namespace narrowgauge
