// SPDX-License-Identifier: Apache-2.0
// Autocast scopes of a network: which nodes they reach, what they make of them, and who decides
// before them.
#include <gtest/gtest.h>

#include <functional>

#include "ops/table.h"
#include "small_training.h"

namespace narrowgauge::autocast_test {
namespace {

// A convolution outside, a block in bf16 with an island in f32, a layer outside again.
Value network(Network& net) {
  Value x = net.input("images", {net.batch(), 1, 12, 12});
  x = net.relu(net.conv(x, 4, {}, "outside"));
  {
    const auto narrow = net.autocast(DType::bf16);
    x = net.linear(net.flatten(x), 16, "inside");
    x = net.layer_norm(net.tanh(x), "norm");
    {
      const auto exact = net.autocast({.enabled = false});
      x = net.linear(x, 16, "island");
    }
    x = net.linear(x, 8, "again");
  }
  return net.linear(x, 4, "logits");
}

PrecisionPlan plan_of(const BuildNetwork& build, const Optimizer& optimizer) {
  Model model("small", build);
  return Trainer(model, softmax_cross_entropy(), optimizer, {.obeys_environment = false}).plan();
}

const PlanEntry& entry(const PrecisionPlan& plan, std::string_view name) {
  const PlanEntry* const found = plan.find(name);
  if (!found) throw UsageError(concat("no ", name, " in\n", print(plan)));
  return *found;
}

TEST(autocast, reaches_what_is_added_while_the_scope_lives) {
  const PrecisionPlan plan = plan_of(network, sgd(0.1));
  EXPECT_EQ(entry(plan, "outside").dtype, DType::f32);
  EXPECT_EQ(entry(plan, "inside").dtype, DType::bf16);
  EXPECT_EQ(entry(plan, "inside").math, Math::bf16);
  EXPECT_EQ(entry(plan, "inside").rule, PrecisionRule::autocast);
  EXPECT_EQ(entry(plan, "inside").note, "bf16: its op is on PyTorch's list of narrow ops");
  EXPECT_EQ(entry(plan, "tanh").note, "bf16: the widest format that it reads");
  EXPECT_EQ(entry(plan, "norm").note, "f32: its op is on PyTorch's list of ops in f32");
  EXPECT_EQ(entry(plan, "norm").dtype, DType::f32);
  EXPECT_EQ(entry(plan, "island").note, "f32: autocast is off here");
  EXPECT_EQ(entry(plan, "island").dtype, DType::f32);
  EXPECT_EQ(entry(plan, "again").dtype, DType::bf16);
  EXPECT_EQ(entry(plan, "logits").dtype, DType::f32);
  EXPECT_EQ(entry(plan, "logits").rule, PrecisionRule::not_requested);
}

TEST(autocast, reaches_the_backward_pass_of_its_nodes) {
  const PrecisionPlan plan = plan_of(network, sgd(0.1));
  int inside = 0, island = 0;
  for (const PlanEntry& each : plan.entries) {
    if (each.math == Math::none || !each.dtype) continue;
    if (each.name.starts_with("inside.gradient/")) {
      ++inside;
      EXPECT_EQ(each.dtype, DType::bf16) << each.name;
    }
    if (each.name.starts_with("island.gradient/") || each.name.starts_with("outside.gradient/")) {
      ++island;
      EXPECT_EQ(each.dtype, DType::f32) << each.name;
    }
  }
  EXPECT_GE(inside, 2);
  EXPECT_GE(island, 3);
}

TEST(autocast, decides_before_the_policy) {
  Optimizer optimizer = sgd(0.1);
  enable_mixed_precision(optimizer, DType::f16);
  const PrecisionPlan plan = plan_of(network, optimizer);
  EXPECT_EQ(entry(plan, "outside").dtype, DType::f16);
  EXPECT_EQ(entry(plan, "inside").dtype, DType::bf16);
  EXPECT_EQ(entry(plan, "island").dtype, DType::f32);
  EXPECT_EQ(entry(plan, "island").rule, PrecisionRule::autocast);
  EXPECT_EQ(entry(plan, "logits").dtype, DType::f16);
  for (const std::string policy : {"apex_cast", "apex_lists"}) {
    optimizer.precision.policy = policy;
    const PrecisionPlan other = plan_of(network, optimizer);
    EXPECT_EQ(entry(other, "inside").dtype, DType::bf16) << policy;
    EXPECT_EQ(entry(other, "island").dtype, DType::f32) << policy;
  }
}

TEST(autocast, leaves_the_last_word_to_overrides_by_name) {
  Optimizer optimizer = sgd(0.1);
  enable_mixed_precision(optimizer, DType::f16);
  optimizer.precision.overrides = {"inside=f32", "island=f16"};
  const PrecisionPlan plan = plan_of(network, optimizer);
  EXPECT_EQ(entry(plan, "inside").dtype, DType::f32);
  EXPECT_EQ(entry(plan, "inside").rule, PrecisionRule::override_by_name);
  EXPECT_EQ(entry(plan, "island").dtype, DType::f16);
}

TEST(autocast, scopes_nest_and_end_where_they_end) {
  Network net("nested", Mode::train);
  const Value x = net.input("x", {net.batch(), 4});
  const auto format_of = [&](Value value) { return net.graph().producer(value).autocast; };
  EXPECT_FALSE(format_of(net.relu(x)).has_value());
  {
    const auto outer = net.autocast(DType::f16);
    EXPECT_EQ(format_of(net.relu(x)), DType::f16);
    try {
      const auto inner = net.autocast(DType::bf16);
      EXPECT_EQ(format_of(net.relu(x)), DType::bf16);
      throw 1;
    } catch (int) {
      EXPECT_EQ(format_of(net.relu(x)), DType::f16);
    }
    // Gradients are as the nodes that they are of, and leave the scope as it is.
    const Value y = net.op("ReduceSum", {net.linear(x, 2)}, "keepdims=0");
    net.gradients(y, {x});
    EXPECT_EQ(format_of(net.relu(x)), DType::f16);
  }
  EXPECT_FALSE(format_of(net.relu(x)).has_value());
}

TEST(autocast, takes_narrow_formats_alone) {
  Network net("none", Mode::train);
  try {
    const auto scope = net.autocast(DType::f64);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "autocast: expected f16 or bf16, got f64");
  }
}

TEST(autocast, in_f16_brings_a_loss_scale) {
  Model model("small", [](Network& net) {
    const auto narrow = net.autocast(DType::f16);
    return small_network()(net);
  });
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.05), {.obeys_environment = false});
  EXPECT_EQ(trainer.step(small_batch(0)).scale, 65536);
}

TEST(autocast, evaluation_computes_as_training) {
  Model model("small", network);
  const Trainer trainer(model, softmax_cross_entropy(), sgd(0.05), {.obeys_environment = false});
  const Explanation predictions = explain(model);
  EXPECT_EQ(predictions.node("inside").entry.dtype, DType::bf16);
  EXPECT_EQ(predictions.node("island").entry.dtype, DType::f32);
  EXPECT_NE(explanation_text(predictions.node("inside")).find("autocast"), std::string::npos);
}

TEST(autocast, a_step_trains_in_it) {
  Model model("small", network);
  Step step(
      model,
      [](Network& net) {
        const Value y = network(net);
        const auto exact = net.autocast({.enabled = false});
        return softmax_cross_entropy()(net, y);
      },
      sgd(0.05));
  double first = 0, last = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    last = step.step(small_batch(i)).loss;
    if (i == 0) first = last;
  }
  EXPECT_LT(last, 0.8 * first);
}

TEST(autocast, plans_and_texts_are_read_back) {
  Model model("small", network);
  const Trainer trainer(model, softmax_cross_entropy(), sgd(0.05), {.obeys_environment = false});
  EXPECT_EQ(read_plan(print(trainer.plan()), trainer.graph()), trainer.plan());
  std::string text = print(trainer.plan());
  const std::size_t line = text.find("\ninside "), word = text.find("bf16", line);
  text.replace(word, 4, "f32");
  EXPECT_EQ(read_plan(text, trainer.graph()).find("inside")->rule, PrecisionRule::edited);
  const std::string graph = print(trainer.graph());
  EXPECT_NE(graph.find("@autocast=bf16"), std::string::npos);
  EXPECT_EQ(print(parse(graph, op_table())), graph);
  EXPECT_THROW(parse("graph \"g\" {\n %x = ng.Input : f32[] @autocast=f64\n}\n", op_table()),
               ModelError);
}

TEST(autocast, parameters_without_masters_follow_it) {
  Optimizer optimizer = sgd(0.1);
  optimizer.precision.master_weights = false;
  const PrecisionPlan plan = plan_of(network, optimizer);
  EXPECT_EQ(entry(plan, "inside.weight").dtype, DType::bf16);
  EXPECT_FALSE(entry(plan, "outside.weight").dtype.has_value());
}

}  // namespace
}  // namespace narrowgauge::autocast_test
