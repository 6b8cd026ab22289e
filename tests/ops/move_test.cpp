// SPDX-License-Identifier: Apache-2.0
// Ops that move elements, against positions written down by hand; the fast kernels and the
// reference alike.
#include "ops/axes/move.h"

#include "ops/axes/axes.h"
#include "ops/index/gather.h"
#include "ops/index/pad.h"
#include "ops/shape/concat.h"
#include "ops/shape/relayout.h"
#include "ops/shape/slice.h"
#include "ops/shape/transpose.h"
#include "support/run_op.h"

namespace narrowgauge::move_test {
namespace {

using testing_support::run_op;
using testing_support::to_doubles;
using Doubles = std::vector<double>;

// 0, 1, 2, ...
Tensor counting(DType dtype, Dims dims) {
  Tensor tensor(dtype, std::move(dims));
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(i));
  return tensor;
}

// The op's outputs for one input and constants; Tensor{} is an absent one.
template <class T>
std::vector<Tensor> run_with(T op, const Tensor& x, const std::vector<Tensor>& constants,
                             bool reference) {
  Graph graph;
  Values inputs{graph.input("x", x.type())};
  for (const Tensor& constant : constants)
    inputs.push_back(constant.dims() == Dims{0} ? absent : graph.constant(constant));
  const Value first = graph.add(std::move(op), inputs);
  for (int o = 0; o < static_cast<int>(graph.producer(first).outputs.size()); ++o)
    graph.output(concat("y", o), {first.node, o});
  return interpret(graph, std::vector<Tensor>{x}, {.reference = reference});
}

class Moves : public ::testing::TestWithParam<bool> {
 protected:
  bool reference() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Kernels, Moves, ::testing::Values(false, true),
                         [](const auto& test) { return test.param ? "Reference" : "Fast"; });

TEST_P(Moves, transpose_permutes) {
  const Tensor y = run_op(Transpose{{2, 0, 1}}, {counting(DType::f16, {2, 2, 3})}, reference())[0];
  EXPECT_EQ(y.dims(), (Dims{3, 2, 2}));
  EXPECT_EQ(to_doubles(y), (Doubles{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
}

TEST(split, refuses_outputs_without_end) {
  for (const Dims& dims : {Dims{4}, Dims{0}})
    EXPECT_THROW(run_op(Split{.axis = 0, .num_outputs = 100000000000}, {Tensor(DType::f32, dims)}),
                 UsageError);
}

TEST_P(Moves, concat_joins_and_split_cuts) {
  const Tensor a = counting(DType::i64, {2, 1}), b = counting(DType::i64, {2, 2});
  const Tensor joined = run_op(Concat{1}, {a, b}, reference())[0];
  EXPECT_EQ(to_doubles(joined), (Doubles{0, 0, 1, 1, 2, 3}));
  const auto pieces = run_op(Split{.axis = 1, .num_outputs = 2}, {joined}, reference());
  EXPECT_EQ(to_doubles(pieces[0]), (Doubles{0, 0, 1, 2}));
  EXPECT_EQ(pieces[1].dims(), (Dims{2, 1}));
  EXPECT_EQ(to_doubles(pieces[1]), (Doubles{1, 3}));
}

TEST_P(Moves, integers_keep_every_bit) {
  const Tensor x = Tensor::from<std::int64_t>({2}, {(std::int64_t{1} << 60) + 1, -3});
  const Tensor y = run_with(
      Slice{}, x, {list_of(Dims{-1}), list_of(Dims{-3}), {}, list_of(Dims{-1})}, reference())[0];
  EXPECT_EQ(y.values<std::int64_t>()[1], (std::int64_t{1} << 60) + 1);
}

TEST_P(Moves, slice_steps_both_ways) {
  const Tensor x = counting(DType::f32, {2, 5});
  const auto slice = [&](const Dims& starts, const Dims& ends, const Dims& axes,
                         const Dims& steps) {
    return to_doubles(run_with(Slice{}, x,
                               {list_of(starts), list_of(ends), list_of(axes), list_of(steps)},
                               reference())[0]);
  };
  EXPECT_EQ(slice({1}, {4}, {1}, {2}), (Doubles{1, 3, 6, 8}));
  EXPECT_EQ(slice({-1}, {-100}, {1}, {-2}), (Doubles{4, 2, 0, 9, 7, 5}));
  EXPECT_EQ(slice({1, 3}, {0, 5}, {0, 1}, {-1, 1}), (Doubles{8, 9}));
  EXPECT_EQ(slice({4}, {2}, {1}, {1}), (Doubles{}));
}

TEST_P(Moves, slice_gradient_fills_with_zeros) {
  const Tensor dy = Tensor::from<float>({3}, {1, 2, 3});
  EXPECT_EQ(to_doubles(run_op(SliceGradient{{6}, {-1}, {-100}, {0}, {-2}}, {dy}, reference())[0]),
            (Doubles{0, 3, 0, 2, 0, 1}));
  EXPECT_THROW(run_op(SliceGradient{{6}, {0}, {2}, {0}, {1}}, {dy}), UsageError);
}

TEST_P(Moves, pad_modes) {
  const Tensor x = counting(DType::f32, {3});
  const auto pad = [&](const char* mode, const Dims& pads, const Tensor& value = {}) {
    return to_doubles(run_with(Pad{mode}, x, {list_of(pads), value}, reference())[0]);
  };
  EXPECT_EQ(pad("constant", {2, 1}), (Doubles{0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(pad("constant", {1, 1}, Tensor::scalar(DType::f32, 7)), (Doubles{7, 0, 1, 2, 7}));
  EXPECT_EQ(pad("constant", {-1, 1}), (Doubles{1, 2, 0}));
  EXPECT_EQ(pad("edge", {2, 1}), (Doubles{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(pad("reflect", {2, 3}), (Doubles{2, 1, 0, 1, 2, 1, 0, 1}));
  EXPECT_EQ(pad("wrap", {2, 4}), (Doubles{1, 2, 0, 1, 2, 0, 1, 2, 0}));
  EXPECT_THROW(pad("mirror", {1, 1}), UsageError);
  EXPECT_THROW(pad("constant", {-2, -2}), UsageError);
  EXPECT_THROW(pad("constant", {1}), UsageError);
}

TEST_P(Moves, pad_gradient_adds_the_copies) {
  const Tensor dy = Tensor::from<float>({6}, {1, 2, 4, 8, 16, 32});
  EXPECT_EQ(to_doubles(run_op(PadGradient{"edge", {3}, {2, 1}}, {dy}, reference())[0]),
            (Doubles{7, 8, 48}));
  EXPECT_EQ(to_doubles(run_op(PadGradient{"reflect", {3}, {2, 1}}, {dy}, reference())[0]),
            (Doubles{4, 42, 17}));
}

TEST_P(Moves, gather_counts_from_both_ends) {
  const Tensor data = counting(DType::f32, {2, 3});
  const Tensor y = run_with(Gather{1}, data, {list_of(Dims{-1, 0})}, reference())[0];
  EXPECT_EQ(to_doubles(y), (Doubles{2, 0, 5, 3}));
  EXPECT_EQ(run_with(Gather{0}, data, {Tensor::scalar(DType::i64, 1)}, reference())[0].dims(),
            (Dims{3}));
  EXPECT_THROW(run_with(Gather{1}, data, {list_of(Dims{3})}, reference()), DataError);
  EXPECT_THROW(run_with(Gather{1}, data, {list_of(Dims{-4})}, reference()), DataError);
}

TEST_P(Moves, gather_gradient_adds_what_was_taken_twice) {
  const Tensor dy = Tensor::from<float>({3, 2}, {1, 2, 4, 8, 16, 32});
  const Tensor dx =
      run_with(GatherGradient{0, {4, 2}}, dy, {list_of(Dims{2, 0, -2})}, reference())[0];
  EXPECT_EQ(to_doubles(dx), (Doubles{4, 8, 0, 0, 17, 34, 0, 0}));
}

// In bf16 a sum of 300 ones kept in bf16 would stop at 256.
TEST(gather_gradient, sums_long_lists_in_single_precision) {
  const Tensor dy = Tensor::full(DType::bf16, {300, 1}, 1);
  const Tensor indices(DType::i64, {300});
  EXPECT_EQ(run_with(GatherGradient{0, {1, 1}}, dy, {indices}, false)[0].at(0), 300);
}

// An input relaid to `storage` and back: in between, the flat memory.
std::vector<Tensor> relay(const Tensor& x, const Storage& storage, bool reference) {
  Graph graph;
  const Value in = graph.input("x", x.type());
  const Value moved = graph.add(Relayout{}, {in}, {.storages = {storage}});
  graph.output("moved", moved);
  graph.output("back", graph.add(Relayout{}, {moved}));
  return interpret(graph, std::vector<Tensor>{x}, {.reference = reference});
}

TEST_P(Moves, relayout_to_channels_last_and_back) {
  const Tensor x = counting(DType::f32, {1, 3, 2, 2});
  const auto results = relay(x, Storage::channels_last(4), reference());
  EXPECT_EQ(to_doubles(results[0]), (Doubles{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  EXPECT_TRUE(results[1].same_bits(x));
}

TEST_P(Moves, relayout_to_blocks_and_back) {
  const Tensor x = counting(DType::bf16, {2, 3, 2});
  const auto results = relay(x, Storage::channels_blocked(3, 2), reference());
  // Two blocks of two channels, the last channel missing: zeros.
  EXPECT_EQ(to_doubles(results[0]), (Doubles{0, 2, 1, 3, 4, 0, 5, 0, 6, 8, 7, 9, 10, 0, 11, 0}));
  EXPECT_TRUE(results[1].same_bits(x));
}

TEST(relayout, goes_from_channels_last_to_blocks_at_once) {
  const Tensor x = counting(DType::f32, {2, 5, 3, 2});
  Graph graph;
  const Value in = graph.input("x", x.type());
  const Value last = graph.add(Relayout{}, {in}, {.storages = {Storage::channels_last(4)}});
  const Value blocked =
      graph.add(Relayout{}, {last}, {.storages = {Storage::channels_blocked(4, 4)}});
  graph.output("back", graph.add(Relayout{}, {blocked}));
  EXPECT_TRUE(interpret(graph, std::vector<Tensor>{x}, {.reference = false})[0].same_bits(x));
}

}  // namespace
}  // namespace narrowgauge::move_test
