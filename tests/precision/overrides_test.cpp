// SPDX-License-Identifier: Apache-2.0
// Overrides of classes and formats, by op and by node.
#include "precision/plans/overrides.h"

#include <gtest/gtest.h>

#include "precision/colouring/lists.h"
#include "precision/colours.h"
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

// n0 -> n1 -> n2 -> n3: n1 became of the nodes "a" and "b" of a file, n2 and n3 are rounds of "c".
Graph of_a_file() {
  Graph graph("file");
  Value value = graph.input("x", TensorType::parse("f32[2]"));
  value = graph.add(Infer{}, {value}, {.name = "n0"});
  value = graph.add(Allow{}, {value}, {.name = "n1", .file_nodes = {{"a", "a"}, {"b", "b"}}});
  for (const char* const name : {"n2", "n3"})
    value = graph.add(Allow{}, {value}, {.name = name, .file_nodes = {{"c", "loop:body:c"}}});
  graph.output("y", graph.add(Unlisted{}, {value}, {.name = "n4"}));
  return graph;
}

std::string colours_with(std::vector<std::string> overrides) {
  return colours(colour_by_lists(of_a_file(), options(DType::f16, std::move(overrides))));
}

TEST(overrides, reach_nodes_by_the_names_of_what_they_stand_for_in_a_file) {
  EXPECT_EQ(colours_with({}), ".NNN.");
  EXPECT_EQ(colours_with({"a=f32"}), "..NN.");
  EXPECT_EQ(colours_with({"b=deny"}), ".DNN.");
  EXPECT_EQ(colours_with({"c=f32"}), ".N...");
  EXPECT_EQ(colours_with({"loop:body:c=f32"}), ".N...");
  EXPECT_EQ(colours_with({"loop:*=f32"}), ".N...");
  EXPECT_EQ(colours_with({"n3=f32"}), ".NN..");
  const std::string said = message([] { colours_with({"loop:bod:c=f32"}); });
  EXPECT_NE(said.find("no node of this name"), std::string::npos) << said;
}

TEST(overrides, of_nodes_that_became_one_must_agree) {
  EXPECT_EQ(colours_with({"a=f32", "b=f32"}), "..NN.");
  EXPECT_EQ(message([] {
              colours_with({"a=f32", "b=f16"});
            }),
            "precision: override 'a=f32' and override 'b=f16' differ, and name nodes that became "
            "one, small.Allow 'n1'");
  EXPECT_NE(message([] { colours_with({"a=f32", "b=deny"}); }), "");
  EXPECT_NE(message([] { colours_with({"a=f32", "b*=f16"}); }), "");
  // A later one of the same node, of a whole or after a pattern refines or undoes an earlier one.
  EXPECT_EQ(colours_with({"a=f32", "a=f16"}), ".NNN.");
  EXPECT_EQ(colours_with({"n*=f16", "a=f32"}), "N.NNN");
  EXPECT_EQ(colours_with({"a=f32", "n1=f16"}), ".NNN.");
  EXPECT_EQ(colours_with({"a=f32", "?=f16"}), ".NNN.");
  EXPECT_EQ(colours_with({"c=f32", "n3=f16"}), ".N.N.");
}

TEST(overrides, must_reach_a_place_with_a_choice) {
  const auto said = [](const std::string& text) { return message([&] { colours_with({text}); }); };
  EXPECT_NE(said("x=f16").find("nothing to choose"), std::string::npos);
  EXPECT_NE(said("x*=f16").find("nothing to choose"), std::string::npos);
  EXPECT_EQ(said("*=f16"), "");
}

}  // namespace
}  // namespace narrowgauge::overrides_test
