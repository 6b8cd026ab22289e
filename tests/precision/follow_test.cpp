// SPDX-License-Identifier: Apache-2.0
#include "precision/colouring/follow.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/small_training.h"

namespace narrowgauge::follow_test {
namespace {

const PlanEntry& entry(const PrecisionPlan& plan, const std::string& name) {
  const PlanEntry* found = plan.find(name);
  EXPECT_NE(found, nullptr) << name;
  static const PlanEntry none;
  return found ? *found : none;
}

TEST(follow, evaluation_computes_as_training_was_edited) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer, DType::bf16);
  const Trainer trainer(model, softmax_cross_entropy(), optimizer);
  PrecisionPlan plan = trainer.plan();
  std::string contraction;
  for (PlanEntry& each : plan.entries) {
    const bool backward = each.name.find("gradient") != std::string::npos;
    if (each.math != Math::bf16 || (!backward && !contraction.empty())) continue;
    if (!backward) contraction = each.name;
    each.dtype = DType::f32;
    each.math = Math::ieee;
    each.rule = PrecisionRule::edited;
  }
  const Graph graph = model.graph(Mode::evaluate);
  const PrecisionPlan followed = follow(plan, graph);
  EXPECT_EQ(entry(followed, contraction), entry(plan, contraction));
  EXPECT_EQ(followed.entries.size(), graph.nodes().size());
  for (const PlanEntry& each : followed.entries)
    if (const PlanEntry* trained = plan.find(each.name)) {
      EXPECT_EQ(each.dtype, trained->dtype) << each.name;
      EXPECT_EQ(each.math, trained->math) << each.name;
    }
}

TEST(follow, a_node_of_another_op_is_not_followed) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(0.05);
  enable_mixed_precision(optimizer, DType::bf16);
  PrecisionPlan plan = Trainer(model, softmax_cross_entropy(), optimizer).plan();
  const auto conv = std::find_if(plan.entries.begin(), plan.entries.end(),
                                 [](const PlanEntry& each) { return each.op == "Conv"; });
  ASSERT_NE(conv, plan.entries.end());
  conv->op = "Gemm";
  conv->dtype = DType::f32;
  const PrecisionPlan followed = follow(plan, model.graph(Mode::evaluate));
  EXPECT_EQ(entry(followed, conv->name).op, "Conv");
  EXPECT_EQ(entry(followed, conv->name).dtype, DType::bf16);
}

TEST(follow, of_a_plan_in_f32_all_stays_f32_with_its_math) {
  Model model("small", small_network());
  Optimizer optimizer = sgd(0.05);
  optimizer.precision.f32_math = Math::ieee;
  const Trainer trainer(model, softmax_cross_entropy(), optimizer);
  EXPECT_EQ(trainer.plan().f32_math, Math::ieee);
  int contractions = 0;
  for (const PlanEntry& each : follow(trainer.plan(), model.graph(Mode::evaluate)).entries) {
    EXPECT_TRUE(!each.dtype || *each.dtype == DType::f32) << each.name;
    EXPECT_TRUE(each.math == Math::none || each.math == Math::ieee) << each.name;
    contractions += each.math == Math::ieee;
  }
  EXPECT_EQ(contractions, 3);
}

}  // namespace
}  // namespace narrowgauge::follow_test
