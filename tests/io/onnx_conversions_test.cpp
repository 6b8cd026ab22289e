// SPDX-License-Identifier: Apache-2.0
// Nodes of older opsets compute what they did then: one small model for each conversion, with
// results by hand from the op's text in ONNX's changelog.
#include <gtest/gtest.h>

#include "io/onnx_small_model.h"

namespace narrowgauge::testing_support::onnx_conversions_test {
namespace {

using Numbers = std::vector<double>;

// The result of one node on inputs a, b, ...
Tensor result_of(std::int64_t opset, const std::string& op, const OnnxAttributes& attributes,
                 const std::vector<Tensor>& inputs) {
  SmallModel model(opset);
  Names names;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    names.push_back(std::string(1, static_cast<char>('a' + i)));
    model.input(names.back(), concat(inputs[i].type()));
  }
  return model.node(op, names, {"y"}, attributes).output("y").run(inputs).at(0);
}

Tensor six() { return floats({2, 3}, {1, 2, 3, 4, 5, 6}); }

TEST(onnx_conversions, axes_are_attributes_of_old_reductions) {
  const OnnxAttributes rows{{"axes", Dims{1}}, {"keepdims", std::int64_t{0}}};
  EXPECT_EQ(numbers_of(result_of(11, "ReduceSum", rows, {six()})), (Numbers{6, 15}));
  EXPECT_EQ(numbers_of(result_of(13, "ReduceMean", rows, {six()})), (Numbers{2, 5}));
  EXPECT_EQ(numbers_of(result_of(17, "ReduceMax", rows, {six()})), (Numbers{3, 6}));
}

TEST(onnx_conversions, softmax_goes_over_all_axes_behind) {
  const Tensor x = Tensor::full(DType::f32, {2, 2, 2}, 1);
  EXPECT_EQ(numbers_of(result_of(12, "Softmax", {}, {x})), Numbers(8, 0.25));
  EXPECT_EQ(numbers_of(result_of(13, "Softmax", {}, {x})), Numbers(8, 0.5));
  EXPECT_EQ(numbers_of(result_of(12, "Softmax", {{"axis", std::int64_t{2}}}, {x})),
            Numbers(8, 0.5));
  const Tensor hard = result_of(11, "Hardmax", {}, {floats({1, 2, 2}, {1, 4, 2, 3})});
  EXPECT_EQ(numbers_of(hard), (Numbers{0, 1, 0, 0}));
}

TEST(onnx_conversions, second_operands_begin_at_an_axis) {
  const OnnxAttributes at_first{{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{0}}};
  const Tensor sum = result_of(6, "Add", at_first, {six(), floats({2}, {10, 20})});
  EXPECT_EQ(numbers_of(sum), (Numbers{11, 12, 13, 24, 25, 26}));
  const Tensor x = floats({1, 2, 1, 2}, {-1, -2, -3, -4});
  EXPECT_EQ(numbers_of(result_of(6, "PRelu", {}, {x, floats({2}, {2, 10})})),
            (Numbers{-2, -4, -30, -40}));
}

TEST(onnx_conversions, lists_become_inputs) {
  const Tensor sliced =
      result_of(9, "Slice", {{"starts", Dims{1}}, {"ends", Dims{3}}, {"axes", Dims{1}}}, {six()});
  EXPECT_EQ(numbers_of(sliced), (Numbers{2, 3, 5, 6}));
  const Tensor padded = result_of(1, "Pad", {{"paddings", Dims{0, 1, 0, 0}}, {"value", 9.f}},
                                  {floats({1, 2}, {1, 2})});
  EXPECT_EQ(numbers_of(padded), (Numbers{9, 1, 2}));
  EXPECT_EQ(numbers_of(result_of(6, "Clip", {{"min", 2.f}, {"max", 5.f}}, {six()})),
            (Numbers{2, 2, 3, 4, 5, 5}));
  EXPECT_EQ(result_of(4, "Reshape", {{"shape", Dims{3, 2}}}, {six()}).dims(), (Dims{3, 2}));
  EXPECT_EQ(result_of(12, "Unsqueeze", {{"axes", Dims{0}}}, {six()}).dims(), (Dims{1, 2, 3}));
  EXPECT_EQ(numbers_of(result_of(9, "TopK", {{"k", std::int64_t{1}}}, {six()})), (Numbers{3, 6}));
  EXPECT_EQ(
      result_of(12, "Split", {{"split", Dims{1, 1}}, {"axis", std::int64_t{0}}}, {six()}).dims(),
      (Dims{1, 3}));
}

TEST(onnx_conversions, types_are_words_in_casts_of_the_first_opsets) {
  const Tensor cast = result_of(5, "Cast", {{"to", std::string("INT64")}}, {floats({2}, {1.5, 2})});
  EXPECT_EQ(cast.dtype(), DType::i64);
  EXPECT_EQ(numbers_of(cast), (Numbers{1, 2}));
}

TEST(onnx_conversions, enlarging_repeats_pixels) {
  const Tensor x = floats({1, 1, 1, 2}, {1, 2});
  const Numbers twice{1, 1, 2, 2, 1, 1, 2, 2};
  const std::vector<float> scales{1, 1, 2, 2};
  EXPECT_EQ(numbers_of(result_of(7, "Upsample", {{"scales", scales}}, {x})), twice);
  EXPECT_EQ(
      numbers_of(result_of(1, "Upsample", {{"height_scale", 2.f}, {"width_scale", 2.f}}, {x})),
      twice);
  for (const std::int64_t opset : {9, 10}) {
    SmallModel model(opset);
    model.input("x", "f32[1,1,1,2]").initializer("s", floats({4}, scales));
    model.node(opset == 9 ? "Upsample" : "Resize", {"x", "s"}, {"y"}).output("y");
    EXPECT_EQ(numbers_of(model.run({x})[0]), twice) << opset;
  }
}

// ONNX's test of opset 10, and what ONNX Runtime gives where one axis grows and the other shrinks.
TEST(onnx_conversions, shrinking_before_opset_11_takes_the_next_pixel) {
  const auto resized = [](const std::vector<float>& scales, const std::string& mode) {
    SmallModel model(10);
    model.input("x", "f32[1,1,2,4]").initializer("s", floats({4}, scales));
    model.node("Resize", {"x", "s"}, {"y"}, {{"mode", mode}}).output("y");
    return numbers_of(model.run({floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})})[0]);
  };
  EXPECT_EQ(resized({1, 1, 0.6F, 0.6F}, "nearest"), (Numbers{1, 3}));
  EXPECT_EQ(resized({1, 1, 1, 0.6F}, "nearest"), (Numbers{1, 3, 5, 7}));
  EXPECT_EQ(resized({1, 1, 1.5F, 0.6F}, "nearest"), (Numbers{1, 3, 1, 3, 5, 7}));
  EXPECT_EQ(resized({1, 1, 0.5F, 0.5F}, "linear"), (Numbers{1, 3}));
}

// What ONNX Runtime gives.
TEST(onnx_conversions, nearest_pixels_of_tensorflow_are_those_of_half_pixels_rounded_up) {
  const auto resized = [](float scale, const std::string& nearest) {
    SmallModel model(11);
    model.input("x", "f32[1,1,1,5]").initializer("roi", floats({0}, {}));
    model.initializer("s", floats({4}, {1, 1, 1, scale}));
    model.node("Resize", {"x", "roi", "s"}, {"y"},
               {{"coordinate_transformation_mode", std::string("tf_half_pixel_for_nn")},
                {"nearest_mode", nearest}});
    return numbers_of(model.output("y").run({floats({1, 1, 1, 5}, {0, 1, 2, 3, 4})})[0]);
  };
  EXPECT_EQ(resized(0.6F, "floor"), (Numbers{0, 2, 4}));
  EXPECT_EQ(resized(1.4F, "floor"), (Numbers{0, 1, 1, 2, 3, 3, 4}));
  EXPECT_THROW(resized(0.6F, "ceil"), ModelError);
}

TEST(onnx_conversions, groups_are_scaled_as_a_whole) {
  const Tensor x = floats({1, 4, 2}, {-1, 1, -1, 1, -1, 1, -1, 1});
  const Tensor y = result_of(18, "GroupNormalization", {{"num_groups", std::int64_t{2}}},
                             {x, floats({2}, {1, 10}), floats({2}, {0, 5})});
  const Numbers wanted{-1, 1, -1, 1, -5, 15, -5, 15};
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(y.at(static_cast<std::int64_t>(i)), wanted[i], 1e-4) << i;
}

TEST(onnx_conversions, scales_of_groups_of_another_rank_are_refused) {
  for (const bool rank_of_x : {true, false}) {
    SmallModel model(18);
    model.input("x", rank_of_x ? "f32[4]" : "f32[1,4,2]");
    model.initializer("scale", rank_of_x ? floats({2}, {1, 2}) : floats({}, {1}));
    model.node("GroupNormalization", {"x", "scale", "scale"}, {"y"},
               {{"num_groups", std::int64_t{2}}});
    EXPECT_THROW(model.output("y").graph(), ModelError);
  }
}

TEST(onnx_conversions, copies_go_along_one_axis) {
  SmallModel model(1);
  model.input("x", "f32[1,2]")
      .initializer("t", integers({}, {2}))
      .initializer("a", integers({}, {1}));
  model.node("Tile", {"x", "t", "a"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(model.run({floats({1, 2}, {1, 2})})[0]), (Numbers{1, 2, 1, 2}));
}

TEST(onnx_conversions, statistics_of_activations_are_refused) {
  SmallModel model(7);
  for (const char* name : {"x", "s", "b", "m", "v"}) model.input(name, "f32[1,2]");
  model.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"},
             {{"spatial", std::int64_t{0}}});
  model.output("y");
  EXPECT_THROW(model.graph(), ModelError);
}

}  // namespace
}  // namespace narrowgauge::testing_support::onnx_conversions_test
