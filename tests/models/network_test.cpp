// SPDX-License-Identifier: Apache-2.0
// What the layers of a network make and refuse.
#include "narrowgauge/network.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/composition/interpret.h"

namespace narrowgauge::network_test {
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

TEST(network, relu6_clips_and_a_global_pool_leaves_a_number_for_each_channel) {
  Network net("small", Mode::train);
  const Value x = net.input("x", {1, 2, 1, 2});
  net.graph().output("clipped", net.relu6(x));
  net.graph().output("mean", net.global_average_pool(x));
  const Tensor images[] = {Tensor::from<float>({1, 2, 1, 2}, std::vector<float>{-1, 3, 7, 5})};
  const std::vector<Tensor> results = interpret(net.graph(), images);
  const float clipped[] = {0, 3, 6, 5};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(results[0].at(i), clipped[i]);
  EXPECT_EQ(results[1].dims(), (Dims{1, 2}));
  EXPECT_EQ(results[1].at(0), 1);
  EXPECT_EQ(results[1].at(1), 6);
}

TEST(network, initials_are_of_the_layers_made_after_them) {
  Network net("initials", Mode::train);
  const Value x = net.input("x", {net.batch(), 4, 8, 8});
  const auto deviation_of = [&](const char* name) {
    return net.graph().find_state(name)->initial.b;
  };
  net.conv(x, 16, {.groups = 2}, "usual");
  net.set_initials({.conv = ConvInitial::he_fan_out,
                    .linear_weight = Initial::constant(3),
                    .embedding = Initial::constant(5)});
  net.conv(x, 16, {}, "out");
  net.linear(net.flatten(x), 2, "linear");
  net.embedding(net.input("i", {2}, DType::i64), 3, 4, "table");
  net.set_initials({.conv = ConvInitial::uniform});
  net.conv(x, 16, {}, "even");
  EXPECT_DOUBLE_EQ(deviation_of("usual.weight"), std::sqrt(2. / (2 * 9)));
  EXPECT_DOUBLE_EQ(deviation_of("out.weight"), std::sqrt(2. / (16 * 9)));
  EXPECT_EQ(net.graph().find_state("even.weight")->initial.kind, Initial::Kind::uniform);
  EXPECT_DOUBLE_EQ(deviation_of("even.weight"), 1 / std::sqrt(4. * 9));
  EXPECT_EQ(net.graph().find_state("linear.weight")->initial.a, 3);
  EXPECT_EQ(net.graph().find_state("linear.bias")->initial.kind, Initial::Kind::uniform);
  EXPECT_EQ(net.graph().find_state("table.weight")->initial.a, 5);
}

TEST(network, shared_layers_have_one_set_of_parameters) {
  Network net("siamese", Mode::train);
  const auto branch = [&](Value x) {
    return net.shared([&] {
      return net.scope("branch", [&] {
        const Value h = net.batch_norm(net.conv(x, 3, {}, "conv"), "norm");
        return net.linear(net.flatten(net.relu(h)), 2, "head");
      });
    });
  };
  const Value a = net.input("a", {2, 1, 4, 4}), b = net.input("b", {2, 1, 4, 4});
  net.graph().output("sum", net.add(branch(a), branch(b)));
  std::vector<std::string> names;
  for (const State& state : net.graph().states()) names.push_back(state.name);
  EXPECT_EQ(names, (std::vector<std::string>{"branch.conv.weight", "branch.conv.bias",
                                             "branch.norm.weight", "branch.norm.bias",
                                             "branch.norm.running_mean", "branch.norm.running_var",
                                             "branch.head.weight", "branch.head.bias"}));
  // The second normalization goes on with the averages of the first.
  const Value next = net.graph().find_state("branch.norm.running_mean")->next;
  const Node& second = net.graph().producer(next);
  EXPECT_NE(second.inputs[3], net.graph().find_state("branch.norm.running_mean")->current);
  EXPECT_EQ(net.graph().producer(second.inputs[3]).op, second.op);
}

TEST(network, refuses_to_share_what_has_no_name_or_another_shape) {
  EXPECT_REFUSES("shared: layer 'linear' needs a name", net.shared([&] {
    return net.linear(net.input("x", {2, 3}), 4);
  }));
  EXPECT_REFUSES("shared: state 'a.weight' is f32[4,3], expected f32[4,5]", net.shared([&] {
    net.linear(net.input("x", {2, 3}), 4, "a");
    return net.linear(net.input("y", {2, 5}), 4, "a");
  }));
}

}  // namespace
}  // namespace narrowgauge::network_test
