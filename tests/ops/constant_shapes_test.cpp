// SPDX-License-Identifier: Apache-2.0
// Ops whose shapes depend on constants: what ONNX's cases leave out, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "ops/axes/axes.h"
#include "ops/composition/interpret.h"
#include "ops/image/non_max_suppression.h"
#include "ops/index/compress.h"
#include "ops/index/unique.h"
#include "support/run_op.h"

namespace narrowgauge::testing_support::constant_shapes_test {
namespace {

Tensor floats(Dims dims, const std::vector<float>& values) {
  return Tensor::from<float>(std::move(dims), values);
}

// All outputs for constant inputs; a tensor f32[0] stands for an absent one.
template <Op T>
std::vector<Tensor> run_on_constants(T op, const std::vector<Tensor>& inputs) {
  Graph graph;
  Values values;
  for (const Tensor& input : inputs)
    values.push_back(input.type() == Tensor().type() ? absent : graph.constant(input));
  const Value first = graph.add(std::move(op), std::move(values));
  for (int o = 0; o < std::ssize(graph.producer(first).outputs); ++o)
    graph.output(concat("out", o), {first.node, o});
  return interpret(graph, {});
}

TEST(non_zero, counts_nan_and_gives_no_rows_for_a_scalar) {
  const Tensor y = run_on_constants(NonZero{}, {floats({2, 2}, {0, NAN, -0.0F, 1})})[0];
  EXPECT_EQ(y.dims(), (Dims{2, 2}));
  EXPECT_EQ(integers_of(y), (Dims{0, 1, 1, 1}));
  EXPECT_EQ(run_on_constants(NonZero{}, {Tensor::scalar(DType::f32, 3)})[0].dims(), (Dims{0, 1}));
}

TEST(unique, knows_one_nan_above_all_numbers) {
  const auto results = run_on_constants(Unique{}, {floats({5}, {NAN, HUGE_VALF, NAN, 0, -0.0F})});
  EXPECT_EQ(results[0].dims(), (Dims{3}));
  EXPECT_EQ(integers_of(results[1]), (Dims{3, 1, 0}));
  EXPECT_EQ(integers_of(results[2]), (Dims{2, 1, 2, 0, 0}));
  EXPECT_EQ(integers_of(results[3]), (Dims{2, 1, 2}));
}

TEST(unique, tells_large_integers_apart) {
  const Dims x{INT64_MAX, INT64_MAX - 1, INT64_MAX};
  EXPECT_EQ(integers_of(run_on_constants(Unique{}, {list_of(x)})[0]),
            (Dims{INT64_MAX - 1, INT64_MAX}));
}

TEST(unique, compares_slices_along_an_inner_axis) {
  const Tensor x = list_of(Dims{2, 1, 2, 3, 0, 3}).reshaped({2, 3});
  const auto results = run_on_constants(Unique{.axis = 1, .sorted = 0}, {x});
  EXPECT_EQ(results[0].dims(), (Dims{2, 2}));
  EXPECT_EQ(integers_of(results[0]), (Dims{2, 1, 3, 0}));
  EXPECT_EQ(integers_of(results[2]), (Dims{0, 1, 0}));
}

TEST(constant_shapes, need_what_they_depend_on) {
  const Tensor x = floats({3}, {1, 0, 2});
  const Tensor yes = Tensor::full(DType::boolean, {1}, 1);
  EXPECT_THROW(run_op(NonZero{}, {x}), UnknownValueError);
  EXPECT_THROW(run_op(Unique{}, {x}), UnknownValueError);
  EXPECT_THROW(run_op(Compress{}, {x, yes}), UnknownValueError);
  EXPECT_THROW(
      run_op(NonMaxSuppression{}, {Tensor(DType::f32, {1, 1, 4}), Tensor(DType::f32, {1, 1, 1})}),
      UnknownValueError);
}

TEST(compress, refuses_more_conditions_than_places) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor four = Tensor::full(DType::boolean, {4}, 1);
  EXPECT_EQ(run_on_constants(Compress{}, {x, four})[0].dims(), (Dims{4}));
  const Tensor none(DType::boolean, {4});
  EXPECT_THROW(run_on_constants(Compress{.axis = 1}, {x, none}), UsageError);
  EXPECT_THROW(run_on_constants(Compress{.axis = 2}, {x, none}), UsageError);
  EXPECT_THROW(run_on_constants(Compress{}, {x, four.reshaped({2, 2})}), UsageError);
}

const Tensor absent_number;

// The boxes chosen of three squares, of which the second overlaps the first by half.
Dims chosen(const std::vector<float>& scores, std::int64_t most, const Tensor& overlap,
            const Tensor& score = absent_number) {
  const Tensor boxes = floats({1, 3, 4}, {0, 0, 2, 2, 0, 1, 2, 3, 4, 4, 6, 6});
  const Tensor room = Tensor::from<std::int64_t>({}, Dims{most});
  const Tensor rows = run_on_constants(NonMaxSuppression{},
                                       {boxes, floats({1, 1, 3}, scores), room, overlap, score})[0];
  Dims indices;
  for (std::int64_t row = 0; row < rows.dims()[0]; ++row)
    indices.push_back(static_cast<std::int64_t>(rows.at(3 * row + 2)));
  return indices;
}

TEST(non_max_suppression, takes_the_lower_index_of_equal_scores) {
  EXPECT_EQ(chosen({1, 1, 1}, 9, Tensor::scalar(DType::f32, 0)), (Dims{0, 2}));
  EXPECT_EQ(chosen({1, 2, 2}, 9, Tensor::scalar(DType::f32, 0)), (Dims{1, 2}));
}

TEST(non_max_suppression, keeps_an_overlap_of_just_the_threshold) {  // which is a third
  const Tensor third = Tensor::scalar(DType::f32, 1.0 / 3);
  EXPECT_EQ(chosen({3, 2, 1}, 9, third), (Dims{0, 1, 2}));
  EXPECT_EQ(chosen({3, 2, 1}, 9, Tensor::scalar(DType::f32, 0.333)), (Dims{0, 2}));
}

TEST(non_max_suppression, takes_scores_above_the_threshold_and_never_nan) {
  const Tensor all = Tensor::scalar(DType::f32, 1), half = Tensor::scalar(DType::f32, 0.5);
  EXPECT_EQ(chosen({0.5F, 0.75F, 0.25F}, 9, all, half), (Dims{1}));
  EXPECT_EQ(chosen({NAN, -1, NAN}, 9, all), (Dims{1}));
  EXPECT_EQ(chosen({NAN, NAN, NAN}, 9, all, Tensor::scalar(DType::f32, NAN)), (Dims{}));
}

TEST(non_max_suppression, takes_as_many_as_there_is_room_for) {
  const Tensor all = Tensor::scalar(DType::f32, 1);
  EXPECT_EQ(chosen({3, 2, 1}, 2, all), (Dims{0, 1}));
  EXPECT_EQ(chosen({3, 2, 1}, INT64_MAX, all), (Dims{0, 1, 2}));
  for (const std::int64_t none : {std::int64_t{0}, INT64_MIN})
    EXPECT_EQ(chosen({3, 2, 1}, none, all), (Dims{}));
}

}  // namespace
}  // namespace narrowgauge::testing_support::constant_shapes_test
