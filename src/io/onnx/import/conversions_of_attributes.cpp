// SPDX-License-Identifier: Apache-2.0
// Attributes that became inputs, got another form, or are no more.
#include <algorithm>
#include <limits>

#include "base/text/ascii.h"
#include "io/onnx/import/conversions.h"
#include "io/onnx/import/types.h"

namespace narrowgauge::onnx {

namespace {

constexpr float largest = std::numeric_limits<float>::max();

void drop(NodeImport& node, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) node.drop(name);
}

// The list becomes input `port`, where the node has it.
void move_list(NodeImport& node, std::string_view attribute, int port) {
  if (const auto values = node.take<Dims>(attribute)) node.set_input(port, node.list(*values));
}

// The number becomes input `port`, in the dtype of input 0.
void set_number(NodeImport& node, int port, double value) {
  node.set_input(port, node.constant(Tensor::scalar(node.type(0).dtype, value)));
}

Values axes_become_input(NodeImport& node) {
  move_list(node, "axes", 1);
  return {};
}

Values clip_bounds_become_inputs(NodeImport& node) {
  const float low = node.take<float>("min").value_or(-largest);
  const float high = node.take<float>("max").value_or(largest);
  if (low != -largest) set_number(node, 1, low);
  if (high != largest) set_number(node, 2, high);
  return {};
}

Values pads_become_input(NodeImport& node) {
  move_list(node, "paddings", 1);  // before opset 2
  move_list(node, "pads", 1);
  if (const auto value = node.take<float>("value")) set_number(node, 2, *value);
  return {};
}

Values slice_bounds_become_inputs(NodeImport& node) {
  move_list(node, "starts", 1);
  move_list(node, "ends", 2);
  move_list(node, "axes", 3);
  return {};
}

Values split_becomes_input(NodeImport& node) {
  move_list(node, "split", 1);
  return {};
}

Values split_counts_outputs(NodeImport& node) {
  if (!node.has_input(1)) node.set("num_outputs", std::ssize(node.node().outputs));
  return {};
}

Values k_becomes_input(NodeImport& node) {
  if (const auto k = node.take<std::int64_t>("k")) node.set_input(1, node.list({*k}));
  return {};
}

Values shape_becomes_input(NodeImport& node) {
  move_list(node, "shape", 1);
  return {};
}

Values cast_target_becomes_number(NodeImport& node) {
  const Attribute* const to = node.node().find("to");
  if (!to || !std::holds_alternative<std::string>(to->value)) return {};
  const std::string name = *node.take<std::string>("to");
  for (std::int64_t type = 1; facts_of(static_cast<DataType>(type)); ++type)
    if (name_of(static_cast<DataType>(type)) == lower(name)) {
      node.set("to", type);
      return {};
    }
  throw ModelError(concat("the type '", name, "' is not known"));
}

Values dropout_ratio_becomes_input(NodeImport& node) {
  drop(node, {"is_test"});
  if (const auto ratio = node.take<float>("ratio"))
    node.set_input(1, node.constant(Tensor::scalar(DType::f32, *ratio)));
  return {};
}

// The later outputs of the first versions were for training; they are not made.
Values batch_normalization_loses_modes(NodeImport& node) {
  const std::int64_t spatial = node.take<std::int64_t>("spatial").value_or(1);
  require<ModelError>(spatial == 1, "statistics of each activation (spatial=0) are not supported");
  drop(node, {"is_test"});
  return {};
}

Values recurrent_loses_output_sequence(NodeImport& node) {
  drop(node, {"output_sequence"});
  return {};
}

Values roi_align_states_its_pixels(NodeImport& node) {
  node.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return {};
}

Values dft_axis_becomes_input(NodeImport& node) {
  const std::int64_t axis = node.take<std::int64_t>("axis").value_or(1);
  node.set_input(2, node.constant(Tensor::from<std::int64_t>({}, std::vector{axis})));
  return {};
}

Values grid_sample_modes_are_renamed(NodeImport& node) {
  const std::string mode = node.take<std::string>("mode").value_or("bilinear");
  node.set("mode", mode == "bilinear" ? std::string("linear") : mode == "bicubic" ? "cubic" : mode);
  return {};
}

Values power_becomes_whole(NodeImport& node) {
  const Attribute* const p = node.node().find("p");
  if (p && std::holds_alternative<float>(p->value))
    node.set("p", static_cast<std::int64_t>(*node.take<float>("p")));
  return {};
}

Values concat_states_its_axis(NodeImport& node) {
  if (!node.node().find("axis")) node.set("axis", std::int64_t{1});
  return {};
}

constexpr Conversion attributes_table[] = {
    {"GlobalLpPool", 2, power_becomes_whole},
    {"LpPool", 2, power_becomes_whole},
    {"Concat", 4, concat_states_its_axis},
    {"Reshape", 5, shape_becomes_input},
    {"Cast", 6, cast_target_becomes_number},
    {"GRU", 7, recurrent_loses_output_sequence},
    {"LSTM", 7, recurrent_loses_output_sequence},
    {"RNN", 7, recurrent_loses_output_sequence},
    {"BatchNormalization", 9, batch_normalization_loses_modes},
    {"Slice", 10, slice_bounds_become_inputs},
    {"TopK", 10, k_becomes_input},
    {"Clip", 11, clip_bounds_become_inputs},
    {"Pad", 11, pads_become_input},
    {"Dropout", 12, dropout_ratio_becomes_input},
    {"ReduceSum", 13, axes_become_input},
    {"Split", 13, split_becomes_input},
    {"Squeeze", 13, axes_become_input},
    {"Unsqueeze", 13, axes_become_input},
    {"RoiAlign", 16, roi_align_states_its_pixels},
    {"ReduceL1", 18, axes_become_input},
    {"ReduceL2", 18, axes_become_input},
    {"ReduceLogSum", 18, axes_become_input},
    {"ReduceLogSumExp", 18, axes_become_input},
    {"ReduceMax", 18, axes_become_input},
    {"ReduceMean", 18, axes_become_input},
    {"ReduceMin", 18, axes_become_input},
    {"ReduceProd", 18, axes_become_input},
    {"ReduceSumSquare", 18, axes_become_input},
    {"Split", 18, split_counts_outputs},
    {"DFT", 20, dft_axis_becomes_input},
    {"GridSample", 20, grid_sample_modes_are_renamed},
};

}  // namespace

std::span<const Conversion> conversions_of_attributes() { return attributes_table; }

}  // namespace narrowgauge::onnx
