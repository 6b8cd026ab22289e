// SPDX-License-Identifier: Apache-2.0
// Ops whose older versions computed something else, or had another name.
#include <array>

#include "base/enumerate.h"
#include "io/onnx/import/attributes.h"
#include "io/onnx/import/conversions.h"
#include "ops/activation/hardmax.h"
#include "ops/axes/axes.h"
#include "ops/image/resize.h"
#include "ops/nn/softmax.h"
#include "ops/shape/reshape.h"
#include "ops/shape/shape_of.h"
#include "ops/shape/views.h"

namespace narrowgauge::onnx {

namespace {

// Seen as a matrix whose rows begin at the axis.
template <class T>
Values along_flattened(NodeImport& node) {
  const Value x = node.needed(0);
  const Shape shape = node.graph().type(x).shape;
  const std::int64_t given = node.take<std::int64_t>("axis").value_or(1);
  const auto rank = static_cast<std::int64_t>(shape.size());
  require(given >= -rank && given <= rank, node.node().op_type, ": axis ", given,
          " is outside a tensor of rank ", rank);
  const std::int64_t axis = given < 0 ? given + rank : given;
  if (axis == rank - 1) return {node.add(T{.axis = -1}, {x})};
  const Value rows = node.add(T{.axis = -1}, {node.add(Flatten{.axis = axis}, {x})});
  if (is_known(shape)) return {node.add(Reshape{}, {rows, node.list(known_dims(shape))})};
  return {node.add(Reshape{}, {rows, node.add(ShapeOf{}, {x})})};
}

// x with `after` more axes of size 1 behind its own.
Value with_axes_behind(NodeImport& node, Value x, std::size_t after) {
  if (after == 0) return x;
  const auto rank = static_cast<std::int64_t>(node.graph().type(x).shape.size());
  Dims axes;
  for (std::size_t i = 0; i < after; ++i) axes.push_back(rank + static_cast<std::int64_t>(i));
  return node.add(Unsqueeze{}, {x, node.list(axes)});
}

// The second input had to be told to broadcast, and could begin at any axis of the first.
Values broadcast_from_axis(NodeImport& node) {
  const bool broadcast = node.take<std::int64_t>("broadcast").value_or(0) != 0;
  const auto axis = node.take<std::int64_t>("axis");
  if (!broadcast || !axis) return {};
  const std::size_t rank = node.type(0).shape.size(), small = node.type(1).shape.size();
  const std::size_t first = normalize_axis(node.node().op_type, *axis, rank);
  require(first + small <= rank, node.node().op_type, ": axis ", *axis, " leaves no room for ",
          node.type(1), " in ", node.type(0));
  node.set_input(1, with_axes_behind(node, node.needed(1), rank - first - small));
  return {};
}

// A slope for each channel, which is axis 1.
Values slope_of_channels(NodeImport& node) {
  const std::size_t rank = node.type(0).shape.size();
  if (node.type(1).shape.size() == 1 && rank > 2)
    node.set_input(1, with_axes_behind(node, node.needed(1), rank - 2));
  return {};
}

Values gemm_broadcasts(NodeImport& node) {
  node.drop("broadcast");
  return {};
}

Values scatter_of_elements(NodeImport& node) {
  node.rename("ScatterElements");
  return {};
}

// tiles copies along one axis.
Values tile_along_axis(NodeImport& node) {
  if (node.input_count() < 3) return {};
  Dims repeats(node.type(0).shape.size(), 1);
  const Dims copies = integers_of(node.constant(1)), axis = integers_of(node.constant(2));
  require<ModelError>(copies.size() == 1 && axis.size() == 1, "expected one number of tiles and ",
                      "one axis, got ", copies.size(), " and ", axis.size());
  repeats[normalize_axis("Tile", axis[0], repeats.size())] = copies[0];
  node.remove_inputs_from(2);
  node.set_input(1, node.list(repeats));
  return {};
}

void as_resize(NodeImport& node, Value scales) {
  node.rename("Resize");
  const std::string mode = node.take<std::string>("mode").value_or("nearest");
  node.set("mode", mode == "bilinear" ? std::string("linear") : mode);
  node.set("coordinate_transformation_mode", std::string("asymmetric"));
  node.set("nearest_mode", std::string("floor"));
  node.set_input(1, absent);
  node.set_input(2, scales);
}

Values upsample_as_resize(NodeImport& node) {
  std::vector<float> scales;
  if (const auto height = node.take<float>("height_scale"))
    scales = {1, 1, *height, node.take<float>("width_scale").value_or(1)};
  else if (const auto given = node.take<std::vector<float>>("scales"))
    scales = *given;
  as_resize(node, scales.empty() ? node.value(1, true) : node.constant(tensor_of(scales)));
  return {};
}

// The scales on one side of 1; the other axes stay.
Tensor scales_that(const Tensor& scales, bool shrink) {
  Tensor kept = scales.clone();
  for (std::int64_t i = 0; i < kept.size(); ++i)
    if ((kept.at(i) < 1) != shrink) kept.set(i, 1);
  return kept;
}

// An axis that shrinks by nearest elements took the next one and not the one before.
Values resize_states_its_pixels(NodeImport& node) {
  if (node.has_input(2)) return {};  // an Upsample
  as_resize(node, node.value(1, true));
  if (*node.node().get<std::string>("mode") != "nearest") return {};
  const Tensor scales = node.constant(2);
  const auto any = [&](auto holds) {
    for (std::int64_t i = 0; i < scales.size(); ++i)
      if (holds(scales.at(i))) return true;
    return false;
  };
  if (!any([](double scale) { return scale < 1; })) return {};
  node.set("nearest_mode", std::string("ceil"));
  if (!any([](double scale) { return scale > 1; })) return {};
  const Resize grow{.coordinate_transformation_mode = "asymmetric", .nearest_mode = "floor"};
  const Value grown =
      node.add(grow, {node.needed(0), absent, node.constant(scales_that(scales, false))});
  node.set_input(0, grown);
  node.set_input(2, node.constant(scales_that(scales, true)));
  return {};
}

// tf_half_pixel_for_nn is half a pixel more than half_pixel, which rounding adds to its floor.
Values resize_loses_pixels_of_tensorflow(NodeImport& node) {
  const auto is = [&](std::string_view attribute, std::string_view word, std::string_view missing) {
    const auto* const found = node.node().get<std::string>(attribute);
    return (found ? std::string_view(*found) : missing) == word;
  };
  if (!is("coordinate_transformation_mode", "tf_half_pixel_for_nn", "half_pixel")) return {};
  require<ModelError>(
      is("mode", "nearest", "nearest") && is("nearest_mode", "floor", "round_prefer_floor"),
      "tf_half_pixel_for_nn is taken with the nearest_mode floor alone");
  node.set("coordinate_transformation_mode", std::string("half_pixel"));
  node.set("nearest_mode", std::string("round_prefer_ceil"));
  return {};
}

// Scale and bias of each group, not of each channel.
Values scales_of_groups(NodeImport& node) {
  require<ModelError>(node.type(0).shape.size() >= 2, "expected x [N,C,...], got ", node.type(0));
  const Dim channels = node.type(0).shape[1];
  for (const int input : {1, 2}) {
    require<ModelError>(node.type(input).shape.size() == 1, "expected input ", input,
                        " [groups], got ", node.type(input));
    const Dim groups = node.type(input).shape[0];
    const Value columns = with_axes_behind(node, node.needed(input), 1);
    const Value repeated = node.add(ExpandTo{{groups, channels / groups}}, {columns});
    node.set_input(input, node.add(ReshapeTo{{channels}}, {repeated}));
  }
  return {};
}

constexpr Conversion meanings_table[] = {
    {"Tile", 6, tile_along_axis},
    {"Add", 7, broadcast_from_axis},
    {"And", 7, broadcast_from_axis},
    {"Div", 7, broadcast_from_axis},
    {"Equal", 7, broadcast_from_axis},
    {"Greater", 7, broadcast_from_axis},
    {"Less", 7, broadcast_from_axis},
    {"Mul", 7, broadcast_from_axis},
    {"Or", 7, broadcast_from_axis},
    {"Pow", 7, broadcast_from_axis},
    {"Sub", 7, broadcast_from_axis},
    {"Xor", 7, broadcast_from_axis},
    {"PRelu", 7, slope_of_channels},
    {"Gemm", 7, gemm_broadcasts},
    {"Upsample", newest_opset + 1, upsample_as_resize},
    {"Resize", 11, resize_states_its_pixels},
    {"Scatter", newest_opset + 1, scatter_of_elements},
    {"Hardmax", 13, along_flattened<Hardmax>},
    {"LogSoftmax", 13, along_flattened<LogSoftmax>},
    {"Softmax", 13, along_flattened<Softmax>},
    {"Resize", 13, resize_loses_pixels_of_tensorflow},
    {"GroupNormalization", 21, scales_of_groups},
};

}  // namespace

std::span<const Conversion> conversions_of_meaning() { return meanings_table; }

}  // namespace narrowgauge::onnx
