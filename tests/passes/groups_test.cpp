// SPDX-License-Identifier: Apache-2.0
// Groups of nodes: which nodes may join, whatever stands between them; and long chains in passes.
#include "passes/fusion/groups.h"

#include <gtest/gtest.h>

#include "narrowgauge/ops.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/pointwise/exponential.h"
#include "ops/shape/reshape.h"
#include "passes/simplify/fold_normalizations.h"
#include "passes/training/recompute.h"
#include "support/small_stack.h"

namespace narrowgauge::groups_test {
namespace {

const TensorType small_type{DType::f32, {2}};

TEST(groups, a_path_that_leaves_and_returns_keeps_a_node_out) {
  Graph graph;
  const Value x = graph.input("x", small_type);
  const Value a = graph.add(Exp{}, {x}), b = graph.add(Exp{}, {a});
  const Value c = graph.add(Add{}, {a, b}), d = graph.add(Add{}, {a, x});
  Groups groups(graph);
  const int group = groups.start(a.node);
  EXPECT_FALSE(groups.can_join(c.node, group));
  EXPECT_TRUE(groups.can_join(d.node, group));
  groups.join(d.node, group);
  EXPECT_TRUE(groups.can_join(b.node, group));
  groups.join(b.node, group);
  EXPECT_TRUE(groups.can_join(c.node, group));
  EXPECT_EQ(groups.members(group), (std::vector<int>{a.node, d.node, b.node}));
}

// The group needs the node by another group, though the node stands behind it in the graph.
TEST(groups, a_group_that_needs_a_later_node_keeps_it_out) {
  Graph graph;
  const Value x = graph.input("x", small_type);
  const Value early = graph.add(Exp{}, {x});
  const Value member = graph.add(Exp{}, {early});
  const Value node = graph.add(Exp{}, {x});
  const Value late = graph.add(Exp{}, {node});
  Groups groups(graph);
  const int other = groups.start(early.node);
  ASSERT_TRUE(groups.can_join(late.node, other));
  groups.join(late.node, other);
  const int group = groups.start(member.node);
  EXPECT_FALSE(groups.can_join(node.node, group));
  EXPECT_EQ(groups.order().size(), graph.nodes().size() - 1);
}

TEST(groups, a_group_that_is_dissolved_leaves_its_nodes_free) {
  Graph graph;
  const Value x = graph.input("x", small_type);
  const Value a = graph.add(Exp{}, {x}), b = graph.add(Exp{}, {x}), c = graph.add(Exp{}, {b});
  const Value d = graph.add(Add{}, {a, c});
  Groups groups(graph);
  const int group = groups.start(a.node);
  groups.join(d.node, group);
  EXPECT_EQ(groups.order(), (std::vector<int>{x.node, b.node, c.node, d.node}));
  groups.dissolve(group);
  EXPECT_EQ(groups.order(), (std::vector<int>{x.node, a.node, b.node, c.node, d.node}));
  const int again = groups.start(b.node);
  EXPECT_FALSE(groups.can_join(d.node, again));
  EXPECT_TRUE(groups.can_join(a.node, again));
}

TEST(groups, a_long_chain_takes_no_more_stack_than_a_short_one) {
  const auto work = [] {
    Graph graph;
    const Value first = graph.add(Exp{}, {graph.input("x", small_type)});
    Value last = first;
    for (int i = 0; i < 20'000; ++i) last = graph.add(Exp{}, {last});
    const Value end = graph.add(Add{}, {first, last});
    Groups groups(graph);
    EXPECT_FALSE(groups.can_join(end.node, groups.start(first.node)));
  };
  EXPECT_EQ(testing_support::on_small_stack(work), "");
}

TEST(recompute, clones_a_long_chain_on_a_small_stack) {
  const auto work = [] {
    Graph graph;
    Value last = graph.input("x", small_type);
    for (int i = 0; i < 5'000; ++i) last = graph.add(Exp{}, {last});
    graph.output("y", graph.add(Exp{}, {last}, {.phase = Phase::backward}));
    const Graph again = recompute(graph, [](const Node&) { return true; });
    EXPECT_EQ(again.nodes().size(), 2 * graph.nodes().size() - 2);
  };
  EXPECT_EQ(testing_support::on_small_stack(work), "");
}

TEST(fold_normalizations, follows_long_chains_of_shapes_on_a_small_stack) {
  const auto work = [] {
    Graph graph;
    const Value x = graph.input("x", {DType::f32, {1, 2, 3, 3}});
    Value factor = graph.constant(Tensor(DType::f32, {2, 1, 1}));
    for (int i = 0; i < 5'000; ++i) factor = graph.add(ReshapeTo{{2, 1, 1}}, {factor});
    graph.output("y", graph.add(Mul{}, {x, factor}));
    EXPECT_EQ(fold_normalizations(graph).nodes().size(), graph.nodes().size());
  };
  EXPECT_EQ(testing_support::on_small_stack(work), "");
}

}  // namespace
}  // namespace narrowgauge::groups_test
