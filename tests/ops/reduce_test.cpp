// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduce.h"

#include <cmath>
#include <limits>

#include "passes/training/differentiate.h"
#include "support/run_op.h"

namespace narrowgauge::reduce_test {
namespace {

using testing_support::to_doubles;
using Doubles = std::vector<double>;

Tensor floats(Dims dims, const std::vector<float>& values) {
  return Tensor::from<float>(std::move(dims), values);
}
Tensor integers(const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

// Reductions want their axes as a constant.
template <Op T>
Tensor reduce(T op, const Tensor& x, const std::optional<Dims>& axes, bool reference) {
  Graph graph;
  Values inputs{graph.input("x", x.type())};
  if (axes) inputs.push_back(graph.constant(integers(*axes)));
  graph.output("y", graph.add(op, inputs));
  return interpret(graph, std::vector<Tensor>{x}, {.reference = reference})[0];
}

const Tensor six = floats({2, 3}, {1, 2, 3, 4, 5, 7});

TEST(reduce, sum_and_mean_over_any_axes) {
  for (const bool reference : {false, true}) {
    EXPECT_EQ(to_doubles(reduce(ReduceSum{}, six, {}, reference)), (Doubles{22}));
    EXPECT_EQ(to_doubles(reduce(ReduceSum{}, six, Dims{0}, reference)), (Doubles{5, 7, 10}));
    EXPECT_EQ(to_doubles(reduce(ReduceSum{}, six, Dims{-1}, reference)), (Doubles{6, 16}));
    EXPECT_EQ(to_doubles(reduce(ReduceMean{}, six, Dims{0}, reference)), (Doubles{2.5, 3.5, 5}));
  }
}

TEST(reduce, keeps_or_drops_reduced_axes) {
  EXPECT_EQ(reduce(ReduceSum{}, six, Dims{1}, false).dims(), (Dims{2, 1}));
  EXPECT_EQ(reduce(ReduceSum{.keepdims = 0}, six, Dims{1}, false).dims(), (Dims{2}));
  EXPECT_EQ(reduce(ReduceSum{.keepdims = 0}, six, {}, false).dims(), (Dims{}));
  EXPECT_EQ(reduce(ReduceSum{}, six, Dims{}, false).dims(), (Dims{1, 1}));
  const ReduceSum noop{.noop_with_empty_axes = 1};
  EXPECT_TRUE(reduce(noop, six, Dims{}, false).same_bits(six));
}

TEST(reduce, other_reductions_follow_their_formulas) {
  const Tensor x = floats({1, 3}, {-1, 2, 3});
  const auto value = [&](auto op, bool reference) {
    return reduce(op, x, Dims{1}, reference).at(0);
  };
  for (const bool reference : {false, true}) {
    EXPECT_EQ(value(ReduceMax{}, reference), 3);
    EXPECT_EQ(value(ReduceMin{}, reference), -1);
    EXPECT_EQ(value(ReduceProd{}, reference), -6);
    EXPECT_EQ(value(ReduceL1{}, reference), 6);
    EXPECT_EQ(value(ReduceSumSquare{}, reference), 14);
    EXPECT_NEAR(value(ReduceL2{}, reference), std::sqrt(14.0), 1e-6);
    EXPECT_NEAR(value(ReduceLogSum{}, reference), std::log(4.0), 1e-6);
    const double sum = std::exp(-1.0) + std::exp(2.0) + std::exp(3.0);
    EXPECT_NEAR(value(ReduceLogSumExp{}, reference), std::log(sum), 1e-6);
  }
}

// Gradients of `op` over axis 1 of x for a seed of ones.
template <Op T>
Doubles gradient_of(T op, const Tensor& x) {
  Graph graph;
  const Value in = graph.input("x", x.type());
  const Value y = graph.add(op, {in, graph.constant(integers({1}))});
  const Value seed = graph.constant(Tensor::full(x.dtype(), known_dims(graph.type(y).shape), 1));
  const Value wanted[] = {in}, outputs[] = {y}, seeds[] = {seed};
  graph.output("dx", append_gradients(graph, outputs, seeds, wanted)[0]);
  return to_doubles(interpret(graph, std::vector<Tensor>{x}, {.reference = false})[0]);
}

TEST(reduce, product_gradient_is_right_beside_zeros) {
  EXPECT_EQ(gradient_of(ReduceProd{}, floats({1, 3}, {2, 3, 4})), (Doubles{12, 8, 6}));
  EXPECT_EQ(gradient_of(ReduceProd{}, floats({1, 3}, {2, 0, 4})), (Doubles{0, 8, 0}));
  EXPECT_EQ(gradient_of(ReduceProd{}, floats({1, 3}, {0, 0, 4})), (Doubles{0, 0, 0}));
}

TEST(reduce, equal_extremes_share_the_gradient) {
  const Tensor x = floats({2, 3}, {1, 5, 5, 2, 0, 1});
  EXPECT_EQ(gradient_of(ReduceMax{.keepdims = 0}, x), (Doubles{0, 0.5, 0.5, 1, 0, 0}));
  EXPECT_EQ(gradient_of(ReduceMin{}, x), (Doubles{1, 0, 0, 0, 1, 0}));
}

TEST(reduce, gradients_stay_finite_at_the_edges) {
  const float low = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(gradient_of(ReduceL2{}, floats({1, 2}, {0, 0})), (Doubles{0, 0}));
  EXPECT_EQ(gradient_of(ReduceLogSumExp{}, floats({1, 2}, {low, low})), (Doubles{0, 0}));
}

TEST(reduce, integers_are_exact_and_saturate) {
  constexpr std::int64_t large = (std::int64_t{1} << 62) + 1;
  const auto sum = [](const std::vector<std::int64_t>& values) {
    return reduce(ReduceSum{}, integers(values), {}, false).values<std::int64_t>()[0];
  };
  EXPECT_EQ(sum({large, -1, 3}), large + 2);
  EXPECT_EQ(sum({large, large, large}), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(sum({large, large, -large, 5}), large + 5);
}

TEST(reduce, numbers_beyond_i64_are_exact_and_saturate) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const auto result = [](const auto& op, const std::vector<std::uint64_t>& values) {
    const Tensor x = Tensor::from<std::uint64_t>({std::ssize(values)}, values);
    return reduce(op, x, {}, false).template values<std::uint64_t>()[0];
  };
  EXPECT_EQ(result(ReduceSum{}, {most - 5, 3}), most - 2);
  EXPECT_EQ(result(ReduceSum{}, {most, 3}), most);
  EXPECT_EQ(result(ReduceMin{}, {most, most - 1}), most - 1);
  EXPECT_EQ(result(ReduceMax{}, {most - 1, 3}), most - 1);
  EXPECT_EQ(result(ReduceProd{}, {most, most}), most);
  EXPECT_EQ(result(ReduceProd{}, {most / 3, 3}), most);
  EXPECT_EQ(result(ReduceSumSquare{}, {most, most}), most);
  EXPECT_EQ(result(ReduceMean{}, {most, most}), most);
}

TEST(reduce, propagates_nan_and_knows_empty_axes) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool reference : {false, true}) {
    EXPECT_TRUE(std::isnan(reduce(ReduceSum{}, floats({2}, {nan, 1}), {}, reference).at(0)));
    EXPECT_EQ(to_doubles(reduce(ReduceSum{}, Tensor(DType::f32, {2, 0}), Dims{1}, reference)),
              (Doubles{0, 0}));
    EXPECT_TRUE(
        std::isnan(reduce(ReduceMean{}, Tensor(DType::f32, {1, 0}), Dims{1}, reference).at(0)));
  }
}

TEST(reduce, refuses_wrong_axes) {
  EXPECT_THROW(reduce(ReduceSum{}, six, Dims{2}, false), UsageError);
  EXPECT_THROW(reduce(ReduceSum{}, six, Dims{-3}, false), UsageError);
  EXPECT_THROW(reduce(ReduceSum{}, six, Dims{1, -1}, false), UsageError);
  Graph graph;
  const Value x = graph.input("x", six.type());
  const Value axes = graph.input("axes", TensorType{DType::i64, {1}});
  EXPECT_THROW(graph.add(ReduceSum{}, {x, axes}), UsageError);
}

TEST(reduce, takes_symbolic_shapes) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[N,3,H]"));
  const Value axes = graph.constant(integers({1}));
  EXPECT_EQ(graph.type(graph.add(ReduceMean{.keepdims = 0}, {x, axes})),
            TensorType::parse("f32[N,H]"));
}

TEST(reduce, sum_gradient_repeats_and_mean_gradient_divides) {
  const Tensor dy = floats({2}, {6, 9});
  for (const bool reference : {false, true}) {
    EXPECT_EQ(
        to_doubles(testing_support::run_op(ReduceSumGradient{{2, 3}, {1}}, {dy}, reference)[0]),
        (Doubles{6, 6, 6, 9, 9, 9}));
    EXPECT_EQ(
        to_doubles(testing_support::run_op(ReduceMeanGradient{{2, 3}, {1}}, {dy}, reference)[0]),
        (Doubles{2, 2, 2, 3, 3, 3}));
  }
  EXPECT_THROW(testing_support::run_op(ReduceSumGradient{{3, 2}, {1}}, {dy}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::reduce_test
