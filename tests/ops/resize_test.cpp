// SPDX-License-Identifier: Apache-2.0
// Sizes and nearest elements of Resize by scales, as ONNX Runtime and PyTorch compute them: in f32.
#include "ops/image/resize.h"

#include <gtest/gtest.h>

#include "support/run_op.h"

namespace narrowgauge::resize_test {
namespace {

using testing_support::to_doubles;

// The numbers 0, 1, ... of an axis, resized.
std::vector<double> resized(const Resize& op, std::int64_t size, float scale) {
  Graph graph;
  const Value x = graph.input("x", TensorType{DType::f32, {size}});
  const Value scales = graph.constant(Tensor::from<float>({1}, std::vector<float>{scale}));
  graph.output("y", graph.add(op, {x, absent, scales}));
  Tensor numbers(DType::f32, {size});
  for (std::int64_t i = 0; i < size; ++i) numbers.set(i, static_cast<double>(i));
  return to_doubles(interpret(graph, std::vector<Tensor>{numbers}).at(0));
}

const Resize nearest{.coordinate_transformation_mode = "asymmetric", .nearest_mode = "floor"};

TEST(resize, the_size_is_the_floor_of_the_product_in_f32) {
  EXPECT_EQ(resized(nearest, 10, 0.7F).size(), 7U);
  EXPECT_EQ(resized(nearest, 20, 0.35F).size(), 7U);
  EXPECT_EQ(resized(nearest, 100, 0.29F).size(), 29U);
  EXPECT_EQ(resized(nearest, 10, 0.69F).size(), 6U);
  EXPECT_EQ(resized(nearest, 3, 1.4F).size(), 4U);
  EXPECT_EQ(resized({.mode = "linear"}, 10, 0.7F).size(), 7U);
}

// In f64, 3 / 0.6F is less than 5 and 7 / 0.7F is more than 10.
TEST(resize, places_are_quotients_in_f32) {
  EXPECT_EQ(resized(nearest, 10, 0.6F), (std::vector<double>{0, 1, 3, 5, 6, 8}));
  Resize next = nearest;
  next.nearest_mode = "ceil";
  EXPECT_EQ(resized(next, 20, 0.7F),
            (std::vector<double>{0, 2, 3, 5, 6, 8, 9, 10, 12, 13, 15, 16, 18, 19}));
}

TEST(resize, what_keeps_its_size_stays_as_it_is) {
  for (const char* const mode : {"nearest", "linear", "cubic"})
    EXPECT_EQ(resized({.mode = mode}, 5, 1.1F), (std::vector<double>{0, 1, 2, 3, 4})) << mode;
}

TEST(resize, a_single_pixel_is_the_first_where_pytorch_halves_pixels) {
  const Resize linear{.coordinate_transformation_mode = "pytorch_half_pixel", .mode = "linear"};
  EXPECT_EQ(resized(linear, 7, 0.25F), (std::vector<double>{0}));
  EXPECT_EQ(resized(linear, 4, 0.5F), (std::vector<double>{0.5, 2.5}));
}

}  // namespace
}  // namespace narrowgauge::resize_test
