// SPDX-License-Identifier: Apache-2.0
// Overrides of classes and formats, by op, by node and by list file.
#include "precision/overrides.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>

#include "precision/lists.h"
#include "small_ops.h"

namespace narrowgauge {
namespace {

using namespace small;

ListOptions options(DType narrow, std::vector<std::string> overrides = {}) {
  ListOptions result;
  result.request.narrow = narrow;
  result.request.overrides = std::move(overrides);
  return result;
}

// "N" narrow, "D" denied, "." otherwise, for n0, n1, ...
std::string colours(const PrecisionPlan& plan) {
  std::string out;
  for (const PlanEntry& entry : plan.entries) {
    if (entry.name[0] != 'n') continue;
    if (entry.dtype != DType::f32)
      out += 'N';
    else
      out += entry.rule == PrecisionRule::deny_list || entry.rule == PrecisionRule::deny_propagated
                 ? 'D'
                 : '.';
  }
  return out;
}

PrecisionRule rule_of(const PrecisionPlan& plan, std::string_view name) {
  return plan.find(name)->rule;
}

TEST(overrides, overrides_change_classes_by_op_and_by_node) {
  EXPECT_EQ(colours(colour_by_lists(chain("AIA"), options(DType::f16, {"Infer=deny"}))), "NDN");
  EXPECT_EQ(colours(colour_by_lists(chain("AIA"), options(DType::f16, {"small.Infer=deny"}))),
            "NDN");
  EXPECT_EQ(colours(colour_by_lists(chain("AUIA"), options(DType::f16, {"n1=infer"}))), "NNNN");
  // The last one that fits counts.
  EXPECT_EQ(colours(colour_by_lists(chain("AIA"), options(DType::f16, {"n*=deny", "n1=f32"}))),
            "D.D");
  EXPECT_EQ(colours(colour_by_lists(chain("AIA"), options(DType::f16, {"n1=f32", "n*=deny"}))),
            "DDD");
}

TEST(overrides, overrides_pin_formats_by_node) {
  const PrecisionPlan pinned = colour_by_lists(chain("AIA"), options(DType::f16, {"n1=f32"}));
  EXPECT_EQ(colours(pinned), "N.N");
  EXPECT_EQ(rule_of(pinned, "n1"), PrecisionRule::override_by_name);
  EXPECT_EQ(pinned.find("n1")->note, "n1=f32");
  EXPECT_EQ(colours(colour_by_lists(chain("DDU"), options(DType::f16, {"n?=f16"}))), "NNN");
  const PrecisionPlan mixed = colour_by_lists(chain("AAA"), options(DType::f16, {"n1=bf16"}));
  EXPECT_EQ(mixed.find("n1")->dtype, DType::bf16);
  EXPECT_EQ(mixed.find("n1")->math, Math::bf16);
  EXPECT_EQ(mixed.find("n2")->math, Math::f16);
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(overrides, bad_overrides_are_named) {
  const auto said = [](std::string text) {
    return message([&] { colour_by_lists(chain("A"), options(DType::f16, {std::move(text)})); });
  };
  EXPECT_NE(said("n0").find("'n0' is not of the form"), std::string::npos);
  EXPECT_NE(said("n0=f64").find("got 'f64'"), std::string::npos);
  EXPECT_NE(said("m0=f16").find("no node of this name"), std::string::npos);
  EXPECT_NE(said("x=f16").find("nothing to choose"), std::string::npos);
  EXPECT_EQ(said("Relu=deny"), "");  // an op that exists, though not here
  EXPECT_NE(message([] { colour_by_lists(chain("A"), options(DType::f64)); }).find("got f64"),
            std::string::npos);
}

TEST(overrides, a_list_file_is_read_with_comments_and_bad_lines_are_named) {
  const std::string path = testing::TempDir() + "precision.list";
  std::ofstream(path) << "# ours\nSum=deny   # because\n\nn0 = f32\n";
  EXPECT_EQ(read_override_list(path), (std::vector<std::string>{"Sum=deny", "n0=f32"}));
  std::ofstream(path) << "Sum=deny\nSum=never\n";
  EXPECT_NE(message([&] { read_override_list(path); }).find("line 2"), std::string::npos);
  std::remove(path.c_str());
  EXPECT_THROW(read_override_list(path), DataError);
}

TEST(overrides, patterns_match_as_in_a_shell) {
  EXPECT_TRUE(matches_pattern("conv*", "conv"));
  EXPECT_TRUE(matches_pattern("*/weight*2", "a/b/weight_12"));
  EXPECT_TRUE(matches_pattern("a?c*", "abc"));
  EXPECT_FALSE(matches_pattern("a?c", "abcd"));
  EXPECT_FALSE(matches_pattern("*b", "abc"));
  EXPECT_TRUE(matches_pattern("*a*a*", "banana"));
}

}  // namespace
}  // namespace narrowgauge
