// SPDX-License-Identifier: Apache-2.0
#include "precision/follow.h"

#include <gtest/gtest.h>

#include "api/small_training.h"

namespace narrowgauge {
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

TEST(follow, of_a_plan_in_f32_all_stays_f32) {
  Model model("small", small_network());
  const Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
  for (const PlanEntry& each : follow(trainer.plan(), model.graph(Mode::evaluate)).entries)
    EXPECT_TRUE(!each.dtype || *each.dtype == DType::f32) << each.name;
}

}  // namespace
}  // namespace narrowgauge
