// SPDX-License-Identifier: Apache-2.0
// What a program asks by the public headers: why a node has its format, and a contraction its
// kernel.
#include <gtest/gtest.h>

#include <algorithm>

#include "api/small_training.h"

namespace narrowgauge::explain_public_test {
namespace {

Optimizer in(DType narrow) {
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer, narrow);
  return optimizer;
}

Model small_model() { return Model("small", small_network()); }

TEST(explain_public, gives_each_node_of_a_trainer_its_format_and_rule) {
  Model model = small_model();
  const Trainer trainer(model, softmax_cross_entropy(), in(DType::bf16));
  const Explanation why = explain(trainer, {{"N", 32}});
  EXPECT_EQ(why.narrow, DType::bf16);
  EXPECT_EQ(why.nodes.size(), trainer.plan().entries.size());
  const NodeExplanation& conv = why.node("conv");
  EXPECT_EQ(conv.entry.dtype, DType::bf16);
  EXPECT_EQ(conv.entry.rule, PrecisionRule::seed_allow);
  EXPECT_EQ(conv.outputs.at(0).dtype, DType::bf16);
  EXPECT_FALSE(conv.before.empty());  // the image comes in f32
  EXPECT_EQ(conv.before.at(0).bytes, 32 * 12 * 12 * (4 + 2));
  EXPECT_NE(explanation_text(conv).find("rule    seed-allow"), std::string::npos);
  EXPECT_GT(why.summary.casts, 0);
}

TEST(explain_public, names_a_node_that_is_not_there) {
  Model model = small_model();
  const Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  EXPECT_THROW(explain(trainer).node("conv9"), UsageError);
}

TEST(explain_public, explains_predictions_as_the_trainer_decided) {
  Model model = small_model();
  EXPECT_EQ(explain(model).node("conv").entry.dtype, DType::f32);
  model.set_precision(in(DType::f16).precision);
  EXPECT_EQ(explain(model).node("conv").entry.dtype, DType::f16);
  const Trainer trainer(model, softmax_cross_entropy(), in(DType::bf16));
  EXPECT_EQ(explain(model).node("conv").entry.dtype, DType::bf16);
}

// Products of 128 by 128 numbers and more, which tiles of AMX are for.
Value wide_network(Network& net) {
  const Value x = net.input("rows", {net.batch(), 256});
  return net.linear(net.relu(net.linear(x, 128)), 64);
}

TEST(explain_public, tells_the_kernels_of_any_cpu) {
  Model model("wide", wide_network);
  const Trainer trainer(model, softmax_cross_entropy(), in(DType::bf16));
  const auto kernels_on = [&](Isa isa, std::int64_t batch) {
    Target target = Target::machine();
    target.isa = isa;
    return explain_kernels(trainer, {.binding = {{"N", batch}}, .target = target});
  };
  const auto on_tiles = [](const KernelReason& each) {
    return each.kernel.find("tiles") != std::string::npos;
  };
  const std::vector<KernelReason> old = kernels_on(Isa::avx2, 32), amx = kernels_on(Isa::amx, 32);
  EXPECT_TRUE(std::ranges::none_of(old, on_tiles));
  EXPECT_TRUE(std::ranges::any_of(amx, on_tiles));
  const std::vector<KernelReason> twice = kernels_on(Isa::amx, 64);
  for (std::size_t i = 0; i < amx.size(); ++i) {
    EXPECT_EQ(amx[i].math, Math::bf16) << amx[i].node;
    EXPECT_EQ(twice[i].flops, 2 * amx[i].flops) << amx[i].node;
  }
}

TEST(explain_public, tells_the_kernels_of_this_machine) {
  Model model = small_model();
  const Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  const auto kernels = explain_kernels(trainer, {.binding = {{"N", 32}}});
  EXPECT_EQ(kernels.size(), 8u);  // of two convolutions and a product: the first has no dx
  for (const KernelReason& each : kernels) EXPECT_NE(each.kernel, "") << each.node;
  EXPECT_THROW(explain_kernels(trainer, {}), UsageError);  // N is unknown
}

TEST(explain_public, knows_the_class_of_every_op) {
  const std::vector<OpClasses> classes = op_classes();
  const auto conv = std::ranges::find(classes, "Conv", &OpClasses::op);
  ASSERT_NE(conv, classes.end());
  EXPECT_EQ(conv->bf16, PrecisionClass::allow);
  EXPECT_TRUE(std::ranges::is_sorted(classes, {}, &OpClasses::op));
}

}  // namespace
}  // namespace narrowgauge::explain_public_test
