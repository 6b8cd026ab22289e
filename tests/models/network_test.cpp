// SPDX-License-Identifier: Apache-2.0
// What the layers of a network refuse.
#include "narrowgauge/network.h"

#include <gtest/gtest.h>

namespace narrowgauge {
namespace {

std::string refusal(const std::function<void(Network&)>& build) {
  Network network("refused", Mode::train);
  try {
    build(network);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

#define EXPECT_REFUSES(part, ...)                                        \
  do {                                                                   \
    const std::string said = refusal([](Network& net) { __VA_ARGS__; }); \
    EXPECT_NE(said.find(part), std::string::npos) << "said: " << said;   \
  } while (false)

TEST(network, refuses_groups_that_channels_cannot_be_cut_into) {
  for (const std::int64_t groups : {0, -1, 5})
    EXPECT_NE(refusal([&](Network& net) {
                net.conv(net.input("x", {1, 4, 8, 8}), 4, {.groups = groups});
              }).find("conv: expected"),
              std::string::npos)
        << groups;
  EXPECT_REFUSES("conv: expected", net.conv(net.input("x", {1, 0, 8, 8}), 4));
}

TEST(network, refuses_scalars_where_a_layer_needs_an_axis) {
  EXPECT_REFUSES("layer_norm: expected at least one axis", net.layer_norm(net.input("x", {})));
  EXPECT_REFUSES("flatten: expected at least one axis", net.flatten(net.input("x", {})));
}

TEST(network, refuses_a_linear_layer_over_nothing) {
  EXPECT_REFUSES("linear: expected at least one feature", net.linear(net.input("x", {2, 0}), 3));
}

TEST(network, refuses_heads_that_do_not_divide_the_width) {
  const auto attention_of = [](std::int64_t heads) {
    return refusal([&](Network& net) {
      const Value x = net.input("x", {2, 4, 8});
      net.attention(x, x, x, {.heads = heads});
    });
  };
  for (const std::int64_t heads : {3, 16})
    EXPECT_NE(attention_of(heads).find("do not divide"), std::string::npos) << heads;
  EXPECT_NE(attention_of(0).find("expected heads of 1 or more"), std::string::npos);
  EXPECT_REFUSES("attention: expected query", const Value x = net.input("x", {2, 8});
                 net.attention(x, x, x, {.heads = 2}));
  EXPECT_REFUSES("embedding: expected", net.embedding(net.input("i", {2}, DType::i64), 0, 4));
}

TEST(network, applies_a_linear_layer_to_the_last_axis) {
  Network net("folds", Mode::train);
  const Value x = net.input("x", {net.batch(), 3, 5});
  EXPECT_EQ(net.graph().type(net.linear(x, 7)), TensorType::parse("f32[N,3,7]"));
}

TEST(network, refuses_the_ops_that_belong_to_its_own_lists) {
  EXPECT_REFUSES("use input() or parameter()", net.op("ng.State", {}, "type=f32[2]"));
  EXPECT_REFUSES("use input() or parameter()", net.op("ng.Input", {}, "type=f32[2]"));
}

}  // namespace
}  // namespace narrowgauge
