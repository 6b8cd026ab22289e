// SPDX-License-Identifier: Apache-2.0
// The policy `lists` against the colouring done by hand and by brute force.
#include "precision/colouring/lists.h"

#include <gtest/gtest.h>

#include <set>

#include "ops/pointwise/cast.h"
#include "precision/apply.h"
#include "precision/colouring/policy.h"
#include "precision/colours.h"
#include "small_ops.h"

namespace narrowgauge::lists_test {
namespace {

using namespace small;

// The example of TensorFlow's own comments: the clear node ahead of the allow node is free, and the
// clear step takes it.
TEST(lists, chain_with_a_deny_at_its_head) {
  const PrecisionPlan plan = colour_by_lists(chain("DICICAI"), options(DType::f16));
  EXPECT_EQ(colours(plan), "DDDDNNN");
  EXPECT_EQ(rule_of(plan, "n4"), PrecisionRule::clear_neighbour);
  EXPECT_EQ(rule_of(plan, "n6"), PrecisionRule::infer_extension);
  EXPECT_EQ(plan.find("n3")->cause, "n2");
  EXPECT_EQ(plan.find("n1")->cause, "n0");
  EXPECT_EQ(rule_of(plan, "n2"), PrecisionRule::deny_propagated);
}

TEST(lists, what_lies_between_allow_ops_is_narrow) {
  const PrecisionPlan plan = colour_by_lists(chain("AICIA"), options(DType::bf16));
  EXPECT_EQ(colours(plan), "NNNNN");
  EXPECT_EQ(rule_of(plan, "n2"), PrecisionRule::between_allows);
  EXPECT_EQ(plan.find("n2")->note, "between n0 and n4");
  EXPECT_EQ(plan.find("n2")->cause, "n1");
  EXPECT_EQ(plan.find("n4")->math, Math::bf16);
}

TEST(lists, infer_ops_after_narrow_ones_follow_through_any_length) {
  EXPECT_EQ(colours(colour_by_lists(chain("AIIII"), options(DType::f16))), "NNNNN");
  // A clear op between them stops the extension: it turns narrow in the step after.
  EXPECT_EQ(colours(colour_by_lists(chain("ACI"), options(DType::f16))), "NN.");
}

TEST(lists, deny_travels_through_ports_of_every_floating_type) {
  // d reaches i by its port of another type, and i's other output, but not what i makes of x.
  const Graph graph = build({{"x", 'x', {}},
                             {"d", 'D', {"x"}},
                             {"c", 'C', {"d"}},
                             {"i", 'I', {"x"}, "c"},
                             {"a", 'A', {"c", "i"}},
                             {"k", 'C', {"i'"}},
                             {"j", 'I', {"k"}},
                             {"b", 'A', {"j", "k"}},
                             {"end", 'U', {"a", "b"}}},
                            {"end"});
  const PrecisionPlan plan = colour_by_lists(graph, options(DType::f16));
  for (const char* denied : {"c", "k", "j"})
    EXPECT_EQ(rule_of(plan, denied), PrecisionRule::deny_propagated) << denied;
  EXPECT_EQ(plan.find("k")->cause, "i");
  EXPECT_EQ(rule_of(plan, "i"), PrecisionRule::infer_without_allow_producer);
  EXPECT_EQ(plan.entries.size(), graph.nodes().size());
}

TEST(lists, unlisted_ops_stop_the_colours) {
  const PrecisionPlan plan = colour_by_lists(chain("AUCUA"), options(DType::f16));
  EXPECT_EQ(colours(plan), "N...N");
  EXPECT_EQ(rule_of(plan, "n1"), PrecisionRule::unlisted);
  EXPECT_EQ(rule_of(plan, "n2"), PrecisionRule::clear_not_reached);
  EXPECT_EQ(colours(colour_by_lists(chain("DUI"), options(DType::f16))), "D..");
}

TEST(lists, an_op_may_be_denied_in_one_format_only) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[4]"));
  const Value a = graph.add(Allow{}, {x}, {.name = "a"});
  const Value s = graph.add(DenyF16{}, {a}, {.name = "s"});
  graph.output("y", graph.add(Allow{}, {s}, {.name = "b"}));
  const PrecisionPlan in_f16 = colour_by_lists(graph, options(DType::f16));
  EXPECT_EQ(rule_of(in_f16, "s"), PrecisionRule::deny_list);
  const PrecisionPlan in_bf16 = colour_by_lists(graph, options(DType::bf16));
  EXPECT_EQ(rule_of(in_bf16, "s"), PrecisionRule::infer_extension);
  EXPECT_EQ(in_bf16.find("s")->precision, PrecisionClass::infer);
}

// Ports of another type as vertices of their own, of the class of their node.
std::vector<SmallStep> with_other_types(const std::vector<SmallStep>& steps) {
  std::vector<SmallStep> result;
  for (const SmallStep& step : steps) {
    result.push_back({step.name, step.kind, step.inputs});
    if (!step.beside.empty()) result.push_back({step.name + "'", step.kind, {step.beside}});
  }
  return result;
}

// Colours by their definitions, with reachability as a matrix.
class BruteForce {
 public:
  BruteForce(const std::vector<SmallStep>& steps, const std::set<std::string>& preserved)
      : steps_(steps), preserved_(preserved) {}

  std::map<std::string, char> run() {
    const auto is = [&](int i, const char* kinds) {
      return std::string(kinds).find(steps_[index(i)].kind) != std::string::npos;
    };
    const auto open = [&](int i) { return !preserved_.contains(steps_[index(i)].name); };
    const int n = static_cast<int>(steps_.size());
    std::vector<bool> narrow(steps_.size()), denied(steps_.size()), near(steps_.size());
    for (int i = 0; i < n; ++i) narrow[index(i)] = is(i, "A") && open(i);
    for (int i = 0; i < n; ++i)
      near[index(i)] = is(i, "DI") || (is(i, "C") && reaches(
                                                         i, [&](int k) { return is(k, "C"); },
                                                         [&](int k) { return is(k, "DI"); }));
    for (int i = 0; i < n; ++i)
      denied[index(i)] = is(i, "D") || (near[index(i)] &&
                                        reached_from(i, near, [&](int k) { return is(k, "D"); }));
    const std::vector<bool> seeds = narrow;
    const auto between = [&](int i) { return is(i, "IC") && open(i) && !denied[index(i)]; };
    const auto is_seed = [&](int i) { return bool(seeds[index(i)]); };
    std::vector<bool> passes(steps_.size());
    for (int i = 0; i < n; ++i) passes[index(i)] = between(i);
    for (int i = 0; i < n; ++i)
      if (between(i) && reaches(i, between, is_seed) && reached_from(i, passes, is_seed))
        narrow[index(i)] = true;
    for (int round = 0; round < n; ++round)
      for (int i = 0; i < n; ++i) {
        bool has = false;
        for (const int p : producers(i)) has = has || narrow[index(p)];
        if (is(i, "I") && open(i) && !denied[index(i)] && has) narrow[index(i)] = true;
      }
    for (int round = 0; round < n; ++round)
      for (int i = 0; i < n; ++i) {
        bool beside = false;
        for (int k = 0; k < n; ++k)
          beside = beside || (narrow[index(k)] && (feeds(k, i) || feeds(i, k)));
        if (is(i, "C") && open(i) && !denied[index(i)] && beside) narrow[index(i)] = true;
      }
    std::map<std::string, char> result;
    for (int i = 0; i < n; ++i)
      if (steps_[index(i)].kind != 'x')
        result[steps_[index(i)].name] = narrow[index(i)] ? 'N' : 'F';
    return result;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  bool feeds(int from, int to) const {
    const auto& inputs = steps_[index(to)].inputs;
    return steps_[index(from)].kind != 'x' &&
           std::count(inputs.begin(), inputs.end(), steps_[index(from)].name) > 0;
  }
  std::vector<int> producers(int i) const {
    std::vector<int> result;
    for (int k = 0; k < i; ++k)
      if (feeds(k, i)) result.push_back(k);
    return result;
  }
  // Whether a path leads from i over `passes` to an `end`.
  bool reaches(int i, const std::function<bool(int)>& passes,
               const std::function<bool(int)>& end) const {
    for (int k = i + 1; k < static_cast<int>(steps_.size()); ++k)
      if (feeds(i, k) && (end(k) || (passes(k) && reaches(k, passes, end)))) return true;
    return false;
  }
  bool reached_from(int i, const std::vector<bool>& passes,
                    const std::function<bool(int)>& start) const {
    for (const int p : producers(i))
      if (start(p) || (passes[index(p)] && reached_from(p, passes, start))) return true;
    return false;
  }
  const std::vector<SmallStep>& steps_;
  const std::set<std::string>& preserved_;
};

TEST(lists, random_graphs_are_coloured_as_the_definitions_say) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto steps = random_steps(random, 4 + static_cast<int>(random() % 14));
    const std::string last = steps.back().name;
    const PrecisionPlan plan = colour_by_lists(build(steps, {last}), options(DType::f16));
    const auto vertices = with_other_types(steps);
    std::set<std::string> preserved{last};  // or of a type that stays as it is
    for (const SmallStep& step : steps) preserved.insert(step.name + "'");
    for (const auto& [name, colour] : BruteForce(vertices, preserved).run()) {
      if (name.back() == '\'') continue;
      EXPECT_EQ(plan.find(name)->dtype == DType::f16, colour == 'N') << seed << ' ' << name;
    }
  }
}

TEST(lists, the_plan_does_not_depend_on_the_order_of_nodes) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const auto steps = random_steps(random, 24);
    const std::vector<std::string> outputs{steps.back().name, steps[steps.size() / 2].name};
    const PrecisionPlan plan = colour_by_lists(build(steps, outputs), options(DType::f16));
    for (int turn = 0; turn < 4; ++turn) {
      const Graph other = build(permuted(steps, random), outputs);
      const PrecisionPlan again = colour_by_lists(other, options(DType::f16));
      EXPECT_EQ(plan.model, again.model);
      ASSERT_EQ(plan.entries.size(), again.entries.size());
      for (const PlanEntry& entry : plan.entries) EXPECT_EQ(entry, *again.find(entry.name)) << seed;
    }
  }
}

TEST(lists, colouring_the_result_again_changes_nothing) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto steps = random_steps(random, 20);
    const Graph graph = build(steps, {steps.back().name});
    const Graph once = apply(graph, colour_by_lists(graph, options(DType::bf16)));
    const PrecisionPlan again = colour_by_lists(once, options(DType::bf16));
    for (const PlanEntry& entry : again.entries)
      EXPECT_TRUE(!entry.dtype || entry.dtype == DType::f32) << seed << ' ' << entry.name;
    EXPECT_EQ(print(apply(once, again)), print(once));
  }
}

TEST(lists, nodes_that_the_policy_keeps_stay_f32_unless_they_are_named) {
  const NarrowNodes but_one{[](const PrecisionVertex& vertex) { return vertex.name != "n1"; },
                            "not this one"};
  const PrecisionPlan plan = colour_by_lists(chain("AIAA"), options(DType::f16), but_one);
  EXPECT_EQ(colours(plan), "N.NN");
  EXPECT_EQ(rule_of(plan, "n1"), PrecisionRule::not_requested);
  EXPECT_EQ(plan.find("n1")->note, "not this one");
  EXPECT_EQ(colours(colour_by_lists(chain("AIAA"), options(DType::f16, {"n1=f16"}), but_one)),
            "NNNN");
}

TEST(lists, ops_that_refuse_the_format_stay_f32) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[4]"));
  const Value a = graph.add(Stubborn{}, {x}, {.name = "a"});
  const Value b = graph.add(Allow{}, {a}, {.name = "b"});
  graph.output("y", graph.add(Unlisted{}, {b}));
  const PrecisionPlan plan = make_precision_plan(graph, options(DType::f16));
  EXPECT_EQ(rule_of(plan, "a"), PrecisionRule::dtype_not_supported);
  EXPECT_EQ(plan.find("b")->dtype, DType::f16);
}

TEST(lists, outputs_and_next_values_of_states_are_preserved) {
  Graph graph;
  const Value w = graph.state(parameter("w", "f32[4]"));
  const Value a = graph.add(Allow{}, {w}, {.name = "a"});
  const Value next = graph.add(Infer{}, {a}, {.name = "next"});
  graph.set_next("w", next);
  graph.output("y", graph.add(Infer{}, {a}, {.name = "y"}));
  const PrecisionPlan plan = colour_by_lists(graph, options(DType::bf16));
  EXPECT_EQ(rule_of(plan, "next"), PrecisionRule::preserved_output);
  EXPECT_EQ(rule_of(plan, "y"), PrecisionRule::preserved_output);
  EXPECT_EQ(rule_of(plan, "w"), PrecisionRule::source);
  EXPECT_EQ(plan.find("a")->dtype, DType::bf16);
}

TEST(lists, a_cast_that_only_narrow_nodes_read_makes_the_narrow_format) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("i64[4]"));
  const Value shared = graph.add(Cast{.to = DType::f32}, {x}, {.name = "shared"});
  const Value only = graph.add(Cast{.to = DType::f32}, {x}, {.name = "only"});
  const Value a = graph.add(Allow{}, {shared, only}, {.name = "a"});
  graph.output("y", graph.add(Unlisted{}, {a, shared}, {.name = "y"}));
  const PrecisionPlan plan = colour_by_lists(graph, options(DType::bf16));
  EXPECT_EQ(rule_of(plan, "only"), PrecisionRule::cast_consumers);
  EXPECT_EQ(rule_of(plan, "shared"), PrecisionRule::pinned_type);
  const Graph applied = apply(graph, plan);
  EXPECT_EQ(applied.node(applied.find_node("only")).outputs[0].type.dtype, DType::bf16);
  EXPECT_EQ(applied.find_node("only.to_bf16"), -1);
}

TEST(lists, a_request_that_changes_nothing_says_why) {
  const auto said = [](const char* ops, const PrecisionRequest& asked) {
    return message([&] { require_effect(make_precision_plan(chain(ops), asked)); });
  };
  const std::string none = said("ICD", options(DType::f16));
  EXPECT_NE(none.find("no op of the class allow; there are 1 small.Clear (clear)"),
            std::string::npos)
      << none;
  const std::string named = said("AA", options(DType::bf16, {"n*=f32"}));
  EXPECT_NE(named.find("n0 (small.Allow): somebody asked for it by name"), std::string::npos)
      << named;
  EXPECT_EQ(said("A", options(DType::bf16)), "");
  EXPECT_EQ(said("A", {}), "");
}

// The rules of policies that go node by node, of scopes, and of parameters.
std::set<PrecisionRule> other_rules() {
  Graph graph("small");
  State weight;
  weight.name = "w";
  weight.type = TensorType::parse("f32[2,3]");
  const Value x = graph.input("x", weight.type), w = graph.state(weight);
  const Value before = graph.add(Clear{}, {x}, {.name = "before"});
  const Value layer = graph.add(Allow{}, {before, w}, {.name = "layer"});
  const Value after = graph.add(Clear{}, {layer}, {.name = "after"});
  graph.output("y", graph.add(Unlisted{}, {after}));
  graph.output("z", graph.add(Unlisted{}, {graph.add(Allow{}, {x}, {.autocast = DType::bf16})}));
  std::set<PrecisionRule> seen;
  for (const char* policy : {"apex_lists", "apex_cast"}) {
    const PrecisionRequest asked{.narrow = DType::f16, .policy = policy, .master_weights = false};
    for (const PlanEntry& entry : make_precision_plan(graph, asked).entries)
      seen.insert(entry.rule);
  }
  return seen;
}

// A graph in which every rule of the colouring fires somewhere; `edited` is the reader's.
TEST(lists, every_rule_can_be_reached) {
  Graph graph = chain("DICICAIUCIA");
  const Value x = graph.inputs()[0];
  graph.output("stubborn", graph.add(Unlisted{}, {graph.add(Stubborn{}, {x}, {.name = "s"})}));
  const Value i = graph.input("i", TensorType::parse("i64[2,3]"));
  const Value cast = graph.add(Cast{.to = DType::f32}, {i}, {.name = "cast"});
  const Value a = graph.add(Allow{}, {cast}, {.name = "a"});
  const Value b = graph.add(Infer{}, {a}, {.name = "b"});
  const Value c = graph.add(Allow{}, {b}, {.name = "c"});
  const Value k = graph.add(Infer{}, {c}, {.name = "last"});
  graph.output("k", graph.add(Pinned{}, {k}));
  graph.output("n", graph.add(Infer{}, {i}, {.name = "not"}));
  Graph body("body");
  body.output("y", body.add(Infer{}, {body.input("x", TensorType::parse("f32[2,3]"))}));
  graph.output("r", graph.add(Repeat{std::make_shared<const Graph>(body)}, {x}, {.name = "r"}));
  graph.output("o", graph.add(Clear{}, {c}, {.name = "forced"}));
  const PrecisionRequest asked = options(DType::f16, {"forced=f32"});
  std::set<PrecisionRule> seen = other_rules();
  seen.insert(PrecisionRule::edited);
  for (const PlanEntry& entry : colour_by_lists(graph, asked).entries) seen.insert(entry.rule);
  for (const PlanEntry& entry : make_precision_plan(graph, {}).entries) seen.insert(entry.rule);
  for (int rule = 0; rule < precision_rule_count; ++rule)
    EXPECT_TRUE(seen.contains(static_cast<PrecisionRule>(rule)))
        << name(static_cast<PrecisionRule>(rule));
}

TEST(lists, rule_names_are_the_inverse_of_their_parser) {
  for (int i = 0; i < precision_rule_count; ++i) {
    const auto rule = static_cast<PrecisionRule>(i);
    EXPECT_EQ(parse_precision_rule(name(rule)), rule);
    EXPECT_FALSE(text(rule).empty());
  }
  EXPECT_FALSE(parse_precision_rule("because"));
}

}  // namespace
}  // namespace narrowgauge::lists_test
