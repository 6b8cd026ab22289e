// SPDX-License-Identifier: Apache-2.0
// Groups of parameters: the last that matches counts, and none may be without members.
#include "train/parameter_settings.h"

#include <gtest/gtest.h>

#include "narrowgauge/network.h"
#include "ops/reduce/reduce.h"
#include "train/training_graph.h"

namespace narrowgauge::parameter_settings_test {
namespace {

// Parameters: conv.weight, conv.bias, head.weight, head.bias.
Graph small() {
  Network net("small", Mode::train);
  const Value x = net.input("x", {net.batch(), 1, 4, 4});
  const Value y = net.linear(net.flatten(net.conv(x, 2, {}, "conv")), 1, "head");
  ReduceMean mean;
  mean.keepdims = 0;
  net.graph().output("loss", net.apply(mean, {y}, "loss"));
  return std::move(net.graph());
}

Optimizer decaying() {
  Optimizer optimizer = sgd(0.1);
  optimizer.rule.set("weight_decay", 0.5);
  return optimizer;
}

double decay_of(const ParameterSettings& settings) {
  for (const Hyperparameter& each : settings.rule.hyperparameters())
    if (each.name == "weight_decay") return std::get<double>(each.value);
  return -1;
}

std::string refusal(const Optimizer& optimizer) {
  try {
    check(optimizer);
    settings_of_parameters(small(), optimizer);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(parameter_settings, the_last_group_that_matches_counts) {
  Optimizer optimizer = decaying();
  optimizer.groups = {{.pattern = "*", .rate = 0.5},
                      {.pattern = "head.*", .rate = 2, .weight_decay = 0.25},
                      {.pattern = "conv.weight", .frozen = true}};
  const std::vector<ParameterSettings> all = settings_of_parameters(small(), optimizer);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_TRUE(all[0].frozen);
  EXPECT_EQ(all[1].rate, 0.5);
  EXPECT_EQ(decay_of(all[1]), 0.5);
  EXPECT_EQ(all[2].rate, 2);
  EXPECT_EQ(decay_of(all[3]), 0.25);
}

TEST(parameter_settings, biases_decay_unless_told_otherwise) {
  Optimizer optimizer = decaying();
  EXPECT_EQ(decay_of(settings_of_parameters(small(), optimizer)[1]), 0.5);
  optimizer.decays_vectors = false;
  optimizer.groups = {{.pattern = "head.bias", .weight_decay = 0.125}};
  const std::vector<ParameterSettings> all = settings_of_parameters(small(), optimizer);
  EXPECT_EQ(decay_of(all[0]), 0.5);
  EXPECT_EQ(decay_of(all[1]), 0);
  EXPECT_EQ(decay_of(all[3]), 0.125);
}

TEST(parameter_settings, groups_that_make_no_sense_are_refused) {
  Optimizer optimizer = decaying();
  optimizer.groups = {{.pattern = "features.*", .frozen = true}};
  EXPECT_EQ(refusal(optimizer),
            "optimizer: none of 4 parameters is called 'features.*': the first is 'conv.weight', "
            "the last 'head.bias'");
  optimizer.groups = {{.pattern = "*", .frozen = true}};
  EXPECT_EQ(refusal(optimizer), "optimizer: all 4 parameters are frozen, none is left to train");
  optimizer.groups = {{.pattern = "*", .rate = -1}};
  EXPECT_NE(refusal(optimizer).find("expected rate of 0"), std::string::npos);
  optimizer.groups = {{.pattern = "*", .weight_decay = -1}};
  EXPECT_NE(refusal(optimizer).find("expected weight_decay of 0"), std::string::npos);
}

TEST(parameter_settings, a_frozen_parameter_has_no_update_and_a_rate_one_of_its_own) {
  Optimizer optimizer = decaying();
  optimizer.groups = {{.pattern = "head.*", .rate = 10}, {.pattern = "conv.*", .frozen = true}};
  const Graph graph = make_training_graph(small(), optimizer);
  EXPECT_EQ(graph.find_node("conv.weight.update"), -1);
  EXPECT_EQ(graph.find_state("conv.weight.velocity"), nullptr);
  const Node& update = graph.node(graph.find_node("head.weight.update"));
  bool found = false;
  for (const Value input : update.inputs)
    found |= !input.is_absent() && graph.value_name(input) == "training/learning_rate_x10";
  EXPECT_TRUE(found) << print(graph);
}

}  // namespace
}  // namespace narrowgauge::parameter_settings_test
