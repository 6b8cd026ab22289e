// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/views.h"

#include <limits>

#include "ops/axes/axes.h"
#include "ops/index/expand.h"
#include "ops/shape/slice.h"
#include "support/run_op.h"

namespace narrowgauge::views_test {
namespace {

// The type of the op's output for an input of `type` and a constant list.
template <class T>
TensorType type_of(T op, std::string_view type, const std::optional<Dims>& list = {}) {
  Graph graph;
  Values inputs{graph.input("x", TensorType::parse(type))};
  if (list) inputs.push_back(graph.constant(list_of(*list)));
  return graph.type(graph.add(std::move(op), inputs));
}

TensorType slice_type(std::string_view type, const std::vector<Dims>& lists) {
  Graph graph;
  Values inputs{graph.input("x", TensorType::parse(type))};
  for (const Dims& list : lists) inputs.push_back(graph.constant(list_of(list)));
  return graph.type(graph.add(Slice{}, inputs));
}

TensorType expected(std::string_view type) { return TensorType::parse(type); }

TEST(reshape, understands_zero_and_minus_one) {
  EXPECT_EQ(type_of(Reshape{}, "f32[2,3,4]", Dims{0, -1}), expected("f32[2,12]"));
  EXPECT_EQ(type_of(Reshape{}, "f32[2,3,4]", Dims{4, -1, 2}), expected("f32[4,3,2]"));
  EXPECT_EQ(type_of(Reshape{.allowzero = 1}, "f32[0,3]", Dims{3, 0}), expected("f32[3,0]"));
  EXPECT_THROW(type_of(Reshape{}, "f32[2,3]", Dims{-1, -1}), UsageError);
  EXPECT_THROW(type_of(Reshape{}, "f32[2,3]", Dims{4, 2}), UsageError);
  EXPECT_THROW(type_of(Reshape{}, "f32[2,3]", Dims{4, -1}), UsageError);
  EXPECT_THROW(type_of(Reshape{}, "f32[2,3]", Dims{-2, 3}), UsageError);
  EXPECT_THROW(type_of(Reshape{}, "f32[2,3]", Dims{2, 3, 0}), UsageError);
}

TEST(reshape, keeps_symbols) {
  EXPECT_EQ(type_of(Reshape{}, "f32[N,3,4]", Dims{0, -1}), expected("f32[N,12]"));
  EXPECT_EQ(type_of(Reshape{}, "f32[N,T,12]", Dims{0, 0, 3, -1}), expected("f32[N,T,3,4]"));
  EXPECT_EQ(type_of(Reshape{}, "f32[N,3,4]", Dims{-1, 12}), expected("f32[N,12]"));
  EXPECT_EQ(type_of(Reshape{}, "f32[N,T,8]", Dims{-1, 8}), expected("f32[N*T,8]"));
}

TEST(flatten, multiplies_both_sides_of_the_axis) {
  EXPECT_EQ(type_of(Flatten{}, "f32[N,3,4]"), expected("f32[N,12]"));
  EXPECT_EQ(type_of(Flatten{0}, "f32[2,3]"), expected("f32[1,6]"));
  EXPECT_EQ(type_of(Flatten{-1}, "f32[2,3,4]"), expected("f32[6,4]"));
  EXPECT_EQ(type_of(Flatten{3}, "f32[2,3,4]"), expected("f32[24,1]"));
  EXPECT_THROW(type_of(Flatten{3}, "f32[2,3]"), UsageError);
}

TEST(squeeze, takes_axes_away) {
  EXPECT_EQ(type_of(Squeeze{}, "f32[1,3,1]"), expected("f32[3]"));
  EXPECT_EQ(type_of(Squeeze{}, "f32[1,N,1]", Dims{-1}), expected("f32[1,N]"));
  EXPECT_THROW(type_of(Squeeze{}, "f32[1,3]", Dims{1}), UsageError);
  EXPECT_THROW(type_of(Squeeze{}, "f32[1,N]"), UsageError);
}

TEST(unsqueeze, counts_axes_in_the_result) {
  EXPECT_EQ(type_of(Unsqueeze{}, "f32[N,3]", Dims{0, -1}), expected("f32[1,N,3,1]"));
  EXPECT_EQ(type_of(Unsqueeze{}, "f32[3]", Dims{2, 0}), expected("f32[1,3,1]"));
  EXPECT_THROW(type_of(Unsqueeze{}, "f32[3]", Dims{2}), UsageError);
  EXPECT_THROW(type_of(Unsqueeze{}, "f32[3]", Dims{0, 0}), UsageError);
}

TEST(expand, broadcasts_both_ways) {
  EXPECT_EQ(type_of(Expand{}, "f32[N,1]", Dims{2, 1, 4}), expected("f32[2,N,4]"));
  EXPECT_THROW(type_of(Expand{}, "f32[3]", Dims{2}), UsageError);
}

TEST(slice, keeps_symbols) {
  const std::int64_t end = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(slice_type("f32[N,8]", {{1}, {5}, {1}}), expected("f32[N,4]"));
  EXPECT_EQ(slice_type("f32[T]", {{1}, {end}}), expected("f32[T-1]"));
  EXPECT_EQ(slice_type("f32[T]", {{0}, {-2}}), expected("f32[T-2]"));
  EXPECT_EQ(slice_type("f32[T]", {{-3}, {end}}), expected("f32[3]"));
  EXPECT_EQ(slice_type("f32[T]", {{0}, {end}, {0}, {2}}), expected("f32[(T+1)/2]"));
  EXPECT_EQ(slice_type("f32[T]", {{-1}, {-end}, {0}, {-1}}), expected("f32[T]"));
}

TEST(slice, refuses_what_does_not_fit) {
  EXPECT_THROW(slice_type("f32[4]", {{0}, {1, 2}}), UsageError);
  EXPECT_THROW(slice_type("f32[4]", {{0}, {2}, {1}}), UsageError);
  EXPECT_THROW(slice_type("f32[4]", {{0}, {2}, {0}, {0}}), UsageError);
  EXPECT_THROW(slice_type("f32[4,4]", {{0, 0}, {2, 2}, {1, 1}}), UsageError);
}

TEST(views, move_nothing) {
  const Operand x{.dtype = DType::f32, .dims = {2, 3}, .strides = {3, 1}};
  const Operand y{.dtype = DType::f32, .dims = {2, 1, 3}, .strides = {3, 3, 1}};
  const Attributes attributes = Attributes::of(Unsqueeze{});
  const Target target = Target::machine();
  const Request request{
      record_of<Unsqueeze>(), attributes, {&x, 1}, {&y, 1}, target, Math::none, "view"};
  const Offer offer = choose_kernel(request, false);
  ASSERT_EQ(offer.aliases.size(), 1U);
  EXPECT_EQ(offer.aliases[0].input, 0);
}

}  // namespace
}  // namespace narrowgauge::views_test
