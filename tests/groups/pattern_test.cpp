// SPDX-License-Identifier: Apache-2.0
// The grammar of patterns, on small graphs.
#include "groups/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "narrowgauge/graph.h"
#include "ops/activation/relu.h"
#include "ops/activation/sigmoid.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/exponential.h"
#include "ops/table.h"

namespace narrowgauge::pattern_test {
namespace {

// [Exp] -> Add -> [Relu], where others may read the sum.
struct Chain : GroupPattern {
  Part before = maybe<Exp>();
  Part sum = anchor<Add>({reads(either, {before, outside})});
  Part behind = maybe<Relu>({shared(0, {sum})});
};

// A tree of sums that a Sigmoid reads.
struct Tree : GroupPattern {
  Part sums = sum_of<Add>(2);
  Part reader = anchor<Sigmoid>({reads(0, {sums, outside})});
};

// All Relus, up to two, that read one value.
struct Readers2 : GroupPattern {
  Part before = maybe<Exp>();
  Part readers = several<Relu>(2, {shared(0, {before, outside})});
  Part behind = maybe<Sigmoid>({reads(0, {readers})});
};

// [Exp -> [Relu]] -> Sigmoid: no Relu without an Exp.
struct Needs : GroupPattern {
  Part first = maybe<Exp>();
  Part middle = maybe<Relu>({reads(0, {first})});
  Part last = anchor<Sigmoid>({reads(0, {middle, first, outside})});
};

Graph graph_of(std::string_view nodes) {
  return parse(concat("graph \"g\" {\n  %x = ng.Input {type=f32[2]} : f32[2]\n",
                      "  %y = ng.Input {type=f32[2]} : f32[2]\n", nodes, "}\n"),
               op_table());
}

int index_of(const Graph& graph, std::string_view name) {
  const auto found = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                  [&](const Node& node) { return node.name == name; });
  return static_cast<int>(found - graph.nodes().begin());
}

// The names of the nodes of all matches around a node, those of a match in the order of its parts.
std::vector<std::string> matches(const GroupPattern& pattern, const Graph& graph,
                                 std::string_view around, std::string_view taken = {}) {
  const Readers readers(graph);
  const PatternScope scope{graph, readers,
                           [&](int node) { return graph.node(node).name != taken; }};
  std::vector<std::string> all;
  pattern.for_each_match(scope, index_of(graph, around), [&](const PartNodes& nodes) {
    std::string text;
    for (const std::vector<int>& part : nodes)
      for (const int node : part) text += (text.empty() ? "" : " ") + graph.node(node).name;
    all.push_back(text);
    return false;
  });
  return all;
}

using Names = std::vector<std::string>;

TEST(pattern, offers_the_largest_choice_first) {
  const Graph graph = graph_of(R"(  %e = Exp(%x) : f32[2]
  %s = Add(%y, %e) : f32[2]
  %r = Relu(%s) : f32[2]
  output "r" = %r
)");
  EXPECT_EQ(matches(Chain(), graph, "s"), (Names{"e s r", "e s", "s r"}));
  EXPECT_EQ(matches(Chain(), graph, "s", "e"), Names{"s r"});
  EXPECT_EQ(matches(Chain(), graph, "s", "s"), Names{});
}

TEST(pattern, keeps_the_preferred_parts_longest) {
  struct Preferring : Chain {
    Preferring() { prefer({behind, before}); }
  };
  const Graph graph = graph_of(R"(  %e = Exp(%x) : f32[2]
  %s = Add(%e, %y) : f32[2]
  %r = Relu(%s) : f32[2]
  output "r" = %r
)");
  EXPECT_EQ(matches(Preferring(), graph, "s"), (Names{"e s r", "s r", "e s"}));
}

TEST(pattern, leaves_what_others_read_unless_it_is_shared) {
  const Graph graph = graph_of(R"(  %e = Exp(%x) : f32[2]
  %s = Add(%y, %e) : f32[2]
  %r = Relu(%s) : f32[2]
  output "e" = %e
  output "s" = %s
  output "r" = %r
)");
  EXPECT_EQ(matches(Chain(), graph, "s"), Names{"s r"});
}

TEST(pattern, takes_one_of_two_inputs_but_not_one_twice) {
  const Graph both = graph_of(R"(  %e = Exp(%x) : f32[2]
  %f = Exp(%y) : f32[2]
  %s = Add(%e, %f) : f32[2]
  output "s" = %s
)");
  EXPECT_EQ(matches(Chain(), both, "s"), Names{"f s"});
  const Graph twice = graph_of(R"(  %e = Exp(%x) : f32[2]
  %s = Add(%e, %e) : f32[2]
  output "s" = %s
)");
  EXPECT_EQ(matches(Chain(), twice, "s"), Names{});
}

// An input that no edge names comes from outside the group.
TEST(pattern, refuses_a_second_way_inside) {
  struct Square : GroupPattern {
    Part before = one<Exp>();
    Part product = anchor<Mul>({shared(0, {before})});
  };
  const Graph graph = graph_of(R"(  %e = Exp(%x) : f32[2]
  %p = Mul(%e, %y) : f32[2]
  %q = Mul(%e, %e) : f32[2]
  output "p" = %p
  output "q" = %q
)");
  EXPECT_EQ(matches(Square(), graph, "p"), Names{"e p"});
  EXPECT_EQ(matches(Square(), graph, "q"), Names{});
}

TEST(pattern, a_part_needs_what_it_reads) {
  const Graph with = graph_of(R"(  %e = Exp(%x) : f32[2]
  %r = Relu(%e) : f32[2]
  %s = Sigmoid(%r) : f32[2]
  output "s" = %s
)");
  EXPECT_EQ(matches(Needs(), with, "s"), Names{"e r s"});
  const Graph without = graph_of(R"(  %r = Relu(%x) : f32[2]
  %s = Sigmoid(%r) : f32[2]
  output "s" = %s
)");
  EXPECT_EQ(matches(Needs(), without, "s"), Names{});
}

TEST(pattern, either_port_is_one_of_them_and_not_both) {
  const Graph graph = graph_of(R"(  %e = Exp(%x) : f32[2]
  %s = Add(%e, %e) : f32[2]
  output "s" = %s
)");
  EXPECT_EQ(matches(Chain(), graph, "s"), Names{});
}

TEST(pattern, collects_a_tree_of_sums_up_to_its_limit) {
  const Graph graph = graph_of(R"(  %a = Add(%x, %y) : f32[2]
  %b = Add(%a, %x) : f32[2]
  %c = Add(%b, %y) : f32[2]
  %s = Sigmoid(%c) : f32[2]
  output "s" = %s
)");
  EXPECT_EQ(matches(Tree(), graph, "s"), Names{"c b s"});
  const Graph doubled = graph_of(R"(  %a = Add(%x, %x) : f32[2]
  %s = Sigmoid(%a) : f32[2]
  output "s" = %s
)");
  EXPECT_EQ(matches(Tree(), doubled, "s"), Names{});
  const Graph read_elsewhere = graph_of(R"(  %b = Add(%x, %y) : f32[2]
  %c = Add(%b, %y) : f32[2]
  %r = Relu(%b) : f32[2]
  %s = Sigmoid(%c) : f32[2]
  output "r" = %r
  output "s" = %s
)");
  EXPECT_EQ(matches(Tree(), read_elsewhere, "s"), Names{"c s"});
}

TEST(pattern, takes_several_readers_of_one_value) {
  const Graph graph = graph_of(R"(  %e = Exp(%x) : f32[2]
  %r1 = Relu(%e) : f32[2]
  %r2 = Relu(%e) : f32[2]
  %r3 = Relu(%e) : f32[2]
  %s = Sigmoid(%r1) : f32[2]
  output "r2" = %r2
  output "r3" = %r3
  output "s" = %s
)");
  EXPECT_EQ(matches(Readers2(), graph, "r1"), (Names{"e r1 r2", "r1 r2"}));
  EXPECT_EQ(matches(Readers2(), graph, "r3"), Names{});
  EXPECT_EQ(matches(Readers2(), graph, "r1", "r2"), (Names{"e r1 r3", "r1 r3"}));
}

TEST(pattern, what_follows_several_follows_only_one) {
  const Graph graph = graph_of(R"(  %r = Relu(%x) : f32[2]
  %s = Sigmoid(%r) : f32[2]
  output "s" = %s
)");
  EXPECT_EQ(matches(Readers2(), graph, "r"), Names{"r s"});
}

TEST(pattern, asks_for_its_condition) {
  struct Conditional : Chain {
    Conditional() {
      where(sum, [](const Graph&, const Node& node) { return node.name == "s"; });
    }
  };
  const Graph graph = graph_of(R"(  %s = Add(%x, %y) : f32[2]
  %t = Add(%y, %x) : f32[2]
  %r = Relu(%s) : f32[2]
  %q = Relu(%t) : f32[2]
  output "r" = %r
  output "q" = %q
)");
  EXPECT_EQ(matches(Conditional(), graph, "s"), Names{"s r"});
  EXPECT_EQ(matches(Conditional(), graph, "t"), Names{});
}

TEST(pattern, matches_a_whole_body_or_none) {
  const Graph whole = graph_of(R"(  %e = Exp(%x) : f32[2]
  %s = Add(%y, %e) : f32[2]
  output "s" = %s
)");
  EXPECT_TRUE(Chain().match_whole(whole).has_value());
  const Graph more = graph_of(R"(  %e = Exp(%x) : f32[2]
  %s = Add(%y, %e) : f32[2]
  %m = Mul(%s, %y) : f32[2]
  output "m" = %m
)");
  EXPECT_FALSE(Chain().match_whole(more).has_value());
}

}  // namespace
}  // namespace narrowgauge::pattern_test
