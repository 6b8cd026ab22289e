// SPDX-License-Identifier: Apache-2.0
// Overrides of classes and formats, by op and by node.
#include "precision/overrides.h"

#include <gtest/gtest.h>

#include "precision/colours.h"
#include "precision/lists.h"
#include "small_ops.h"

namespace narrowgauge::overrides_test {
namespace {

using namespace small;

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

}  // namespace
}  // namespace narrowgauge::overrides_test
