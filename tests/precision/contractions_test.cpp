// SPDX-License-Identifier: Apache-2.0
// The policy `contractions`: what multiplies is narrow, and nothing beside it.
#include <gtest/gtest.h>

#include "precision/apply.h"
#include "precision/colouring/follow.h"
#include "precision/colouring/policy.h"
#include "precision/colours.h"
#include "small_ops.h"

namespace narrowgauge::contractions_test {
namespace {

using namespace small;

PrecisionPlan plan_of(const Graph& graph, std::vector<std::string> overrides = {}) {
  return make_precision_plan(
      graph, {.narrow = DType::f16, .policy = "contractions", .overrides = std::move(overrides)});
}

TEST(contractions, are_narrow_and_what_lies_between_them_is_not) {
  const Graph graph = chain("ACIAD");
  const PrecisionPlan plan = plan_of(graph);
  EXPECT_EQ(colours(colour_by_lists(graph, options(DType::f16))), "NNNND");
  EXPECT_EQ(colours(plan), "N..ND");
  EXPECT_EQ(plan.policy, "contractions");
  EXPECT_EQ(rule_of(plan, "n2"), PrecisionRule::not_requested);
  EXPECT_EQ(plan.find("n2")->note, "only contractions are narrow");
  EXPECT_EQ(plan.find("n0")->math, Math::f16);
}

TEST(contractions, leave_the_last_word_to_overrides) {
  EXPECT_EQ(colours(plan_of(chain("AIA"), {"n1=f16"})), "NNN");
  EXPECT_EQ(colours(plan_of(chain("AIA"), {"n0=f32"})), "..N");
}

TEST(contractions, plans_are_read_and_followed) {
  const Graph graph = chain("AIA");
  const PrecisionPlan plan = plan_of(graph);
  EXPECT_EQ(read_plan(print(plan), graph), plan);
  EXPECT_EQ(colours(follow(plan, chain("AIAIA"))), "N.N.N");
}

}  // namespace
}  // namespace narrowgauge::contractions_test
