// SPDX-License-Identifier: Apache-2.0
// The plan's text: its inverse, edits by hand, every error of the reader, and damaged text.
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "io/files.h"
#include "precision/apply.h"
#include "precision/colouring/lists.h"
#include "precision/colouring/policy.h"
#include "precision/plan_reader.h"
#include "precision/plans/fingerprint.h"
#include "small_ops.h"

namespace narrowgauge::plan_test {
namespace {

using namespace small;

PrecisionRequest options(DType narrow) {
  PrecisionRequest result;
  result.narrow = narrow;
  return result;
}

PrecisionPlan plan_of(const Graph& graph, DType narrow = DType::f16) {
  return colour_by_lists(graph, options(narrow));
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << " in\n" << text;
  return text.replace(at, what.size(), with);
}

// The line of node `name` with `what` replaced.
std::string edited(const std::string& text, const std::string& name, std::string_view what,
                   std::string_view with) {
  const std::size_t begin = text.find("\n" + name + " ") + 1;
  const std::size_t end = text.find('\n', begin);
  return text.substr(0, begin) + replaced(text.substr(begin, end - begin), what, with) +
         text.substr(end);
}

std::string error_of(const std::string& text, const Graph& graph) {
  try {
    read_plan(text, graph);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "no error";
}

#define EXPECT_SAYS(text, part)                                        \
  do {                                                                 \
    const std::string said = text;                                     \
    EXPECT_NE(said.find(part), std::string::npos) << "said: " << said; \
  } while (false)

TEST(plan, is_a_line_for_each_node_with_format_math_and_rule) {
  const Graph graph = chain("AID");
  EXPECT_EQ(print(plan_of(graph)),
            concat("# Which format each node computes in, and the rule that decided.\n"
                   "# To change one, write another format (f32, f16, bf16) or another contract "
                   "after math=;\n"
                   "# the line is then read as rule=edited. A plan belongs to one model.\n"
                   "version 1\n"
                   "model ",
                   fingerprint(graph),
                   " chain\n"
                   "narrow f16\n"
                   "policy lists\n"
                   "f32-math f32\n"
                   "\n"
                   "x    ng.Input        unlisted  -              rule=source\n"
                   "n0   small.Allow     allow     f16  math=f16  rule=seed-allow\n"
                   "n1   small.Infer     infer     f16            rule=infer-extension  cause=n0\n"
                   "n2   small.Deny      deny      f32            rule=deny-list\n"
                   "end  small.Unlisted  unlisted  f32            rule=unlisted\n"));
}

TEST(plan, print_and_read_are_inverse) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto steps = random_steps(random, 20);
    const Graph graph = build(steps, {steps.back().name}, "a model");
    PrecisionRequest asked = options(seed % 2 ? DType::f16 : DType::bf16);
    asked.overrides = {"n3=f32", "n5=deny", "small.Clear=infer"};
    asked.f32_math = seed % 3 ? Math::f32 : Math::ieee;
    PrecisionPlan plan = colour_by_lists(graph, asked);
    if (seed % 5 == 0) plan.reason = "the \"fastest\" # by far";
    EXPECT_EQ(read_plan(print(plan), graph), plan);
  }
  const Graph graph = chain("AID");
  const PrecisionPlan in_f32 = make_precision_plan(graph, {});
  EXPECT_EQ(read_plan(print(in_f32), graph), in_f32);
}

TEST(plan, names_with_spaces_quotes_and_hashes_are_quoted) {
  Graph graph("my \"model\" #1");
  const Value x = graph.input("#x", TensorType::parse("f32[2]"));
  const Value a = graph.add(Allow{}, {x}, {.name = "a b\"c\\d"});
  const Value again = graph.add(Allow{}, {a}, {.name = "again", .instance = 2});
  graph.output("y", graph.add(Infer{}, {again}, {.name = "line\nbreak"}));
  const PrecisionPlan plan = plan_of(graph);
  EXPECT_NE(plan.find("again#2"), nullptr);
  EXPECT_EQ(read_plan(print(plan), graph), plan);
}

TEST(plan, an_edited_line_changes_that_node_only) {
  const Graph graph = chain("AICIAID");
  const PrecisionPlan plan = plan_of(graph);
  const PrecisionPlan changed = read_plan(edited(print(plan), "n2", "f16", "f32"), graph);
  EXPECT_EQ(changed.find("n2")->dtype, DType::f32);
  EXPECT_EQ(changed.find("n2")->rule, PrecisionRule::edited);
  EXPECT_EQ(changed.find("n2")->note, "was between-allows");
  EXPECT_EQ(diff(plan, changed),
            (std::vector<PlanChange>{{"n2", "f16 between-allows", "f32 edited"}}));
  EXPECT_EQ(read_plan(print(changed), graph), changed);

  const Graph before = apply(graph, plan), after = apply(graph, changed);
  for (const Node& node : before.nodes()) {
    const int at = after.find_node(node.full_name());
    ASSERT_GE(at, 0) << node.full_name();
    const DType expected = node.name == "n2" ? DType::f32 : node.outputs[0].type.dtype;
    EXPECT_EQ(after.node(at).outputs[0].type.dtype, expected) << node.name;
  }
  // n1 and n2 gained a cast behind them, and no more.
  EXPECT_EQ(after.nodes().size(), before.nodes().size() + 2);
}

TEST(plan, the_contract_follows_an_edited_format) {
  const Graph graph = chain("AAD");
  const std::string text = print(plan_of(graph));
  const PrecisionPlan up = read_plan(edited(text, "n1", "f16 ", "f32 "), graph);
  EXPECT_EQ(up.find("n1")->math, Math::f32);
  const PrecisionPlan across = read_plan(edited(text, "n1", "f16 ", "bf16 "), graph);
  EXPECT_EQ(across.find("n1")->math, Math::bf16);
  // Edited, saved, and edited back: the line says no more which of its words is new.
  const std::string back = edited(print(up), "n1", "f32 ", "f16 ");
  EXPECT_SAYS(error_of(back, graph), "math f32 does not fit f16");
  const PrecisionPlan without = read_plan(edited(back, "n1", "math=f32", ""), graph);
  EXPECT_EQ(without.find("n1")->math, Math::f16);
  EXPECT_EQ(without.find("n1")->rule, PrecisionRule::edited);
}

TEST(plan, an_edited_line_of_an_override_is_an_edit) {
  const Graph graph = chain("AAD");
  PrecisionRequest asked = options(DType::f16);
  asked.overrides = {"n1=bf16"};
  const PrecisionPlan plan = colour_by_lists(graph, asked);
  const std::string text = print(plan);
  EXPECT_EQ(read_plan(text, graph), plan);
  const PrecisionPlan changed = read_plan(edited(text, "n1", " bf16 ", " f16 "), graph);
  EXPECT_EQ(changed.find("n1")->rule, PrecisionRule::edited);
  EXPECT_EQ(changed.find("n1")->note, "was override");
  EXPECT_EQ(changed.find("n1")->math, Math::f16);
  EXPECT_SAYS(error_of(edited(text, "n1", "math=bf16", "math=f16"), graph),
              "math f16 does not fit bf16");
}

TEST(plan, an_edited_contract_is_an_edit) {
  const Graph graph = chain("AD");
  const PrecisionPlan plan = colour_by_lists(graph, [] {
    PrecisionRequest asked = options(DType::f16);
    asked.overrides = {"n0=f32"};
    return asked;
  }());
  const PrecisionPlan changed =
      read_plan(edited(print(plan), "n0", "math=f32", "math=ieee"), graph);
  EXPECT_EQ(changed.find("n0")->math, Math::ieee);
  EXPECT_EQ(changed.find("n0")->rule, PrecisionRule::edited);
  const Graph applied = apply(graph, changed);
  EXPECT_EQ(applied.node(applied.find_node("n0")).math, Math::ieee);
}

TEST(plan, comments_and_blank_lines_are_free) {
  const Graph graph = chain("AID");
  const PrecisionPlan plan = plan_of(graph);
  std::string text =
      replaced(print(plan), "rule=seed-allow\n", "rule=seed-allow # ours\n\n \t\n# x\n");
  text = replaced(text, "version 1", "  version 1  # the first");
  EXPECT_EQ(read_plan(text, graph), plan);
  text.pop_back();  // the last line may lack its end
  EXPECT_EQ(read_plan(text, graph), plan);
}

TEST(plan, lines_may_stand_in_any_order) {
  const Graph graph = chain("AID");
  const PrecisionPlan plan = plan_of(graph);
  std::string text = print(plan);
  const std::size_t at = text.find("x    ng.Input");
  const std::string line = text.substr(at, text.find('\n', at) + 1 - at);
  text.erase(at, line.size());
  EXPECT_EQ(read_plan(text + line, graph), plan);
}

TEST(plan, the_reader_names_line_and_cause) {
  const Graph graph = chain("AID");
  const std::string text = print(plan_of(graph));
  const auto with = [&](std::string_view what, std::string_view by) {
    return error_of(replaced(text, what, by), graph);
  };
  EXPECT_SAYS(with("version 1", "version 2"), "line 4: version 2 is not known");
  EXPECT_SAYS(with("version 1\n", ""), "line 4: expected 'version', got 'model'");
  EXPECT_SAYS(with("narrow f16", "narrow"), "line 6: 'narrow' takes 1 words, got 0");
  EXPECT_SAYS(with("narrow f16", "narrow i8"), "unknown dtype 'i8'");
  EXPECT_SAYS(with("policy lists", "policy luck"), "line 7: unknown policy 'luck'");
  EXPECT_SAYS(with("f32-math f32", "f32-math f16"),
              "f32-math is ieee, f32, tf32, tf32x3, bf16x3, dfp16 or sim:<unit>");
  EXPECT_SAYS(with("f32-math f32", "f32-math fast"), "unknown mode 'fast'");
  EXPECT_SAYS(with(fingerprint(graph), "0123456789abcdef"),
              "line 5: the plan belongs to another model: 'chain' (0123456789abcdef)");
  EXPECT_SAYS(error_of(text, chain("AII")), "belongs to another model");
  EXPECT_SAYS(with("\nn1 ", "\nm1 "), "line 12: unknown node 'm1'; did you mean n1?");
  EXPECT_SAYS(with("\nn1 ", "\nn0 "), "line 12: node 'n0' was on line 11 already");
  EXPECT_SAYS(with("small.Infer", "small.Other"), "line 12: node 'n1' is small.Infer in the model");
  EXPECT_SAYS(with(" infer ", " inferred "), "unknown class 'inferred'");
  EXPECT_SAYS(with("f16            rule", "f17            rule"), "line 12: unknown dtype 'f17'");
  EXPECT_SAYS(with("f16            rule", "-            rule"), "needs a format");
  EXPECT_SAYS(with("unlisted  -", "unlisted  f16"), "line 10: node 'x' takes '-'");
  EXPECT_SAYS(with("rule=source", "rule=unlisted"), "rule unlisted does not fit node 'x'");
  EXPECT_SAYS(with("rule=infer-extension", "rule=magic"), "line 12: unknown rule 'magic'");
  EXPECT_SAYS(with("rule=infer-extension", "rule=infer-extenson"), "did you mean infer-extension?");
  EXPECT_SAYS(with("rule=infer-extension", ""), "unknown rule ''");
  EXPECT_SAYS(with("cause=n0", "cause=m0"), "unknown cause 'm0'");
  EXPECT_SAYS(with("cause=n0", "whim=n0"), "unknown setting 'whim=n0'");
  EXPECT_SAYS(with("cause=n0", "cause=n0 cause=n0"), "two settings 'cause'");
  EXPECT_SAYS(with("math=f16", "math=f32"), "line 11: math f32 does not fit f16");
  EXPECT_SAYS(with("math=f16", "math=tf32"), "math tf32 does not fit f16");
  EXPECT_SAYS(with("cause=n0", "math=f32"), "is no contraction");
  EXPECT_SAYS(with("cause=n0", "note=\"a"), "line 12: a quote is not closed");
  EXPECT_SAYS(with("f32            rule=unlisted", ""), "expected name, op, class and dtype");
  const std::size_t last = text.rfind("end ");
  EXPECT_SAYS(error_of(text.substr(0, last), graph), "the plan ends without node 'end'");
  EXPECT_SAYS(error_of("", graph), "expected 'version', got the end");
}

TEST(plan, a_format_that_the_op_refuses_is_an_error) {
  Graph graph;
  const Value x = graph.input("x", TensorType::parse("f32[4]"));
  const Value s = graph.add(Stubborn{}, {x}, {.name = "s"});
  graph.output("y", graph.add(Allow{}, {s}, {.name = "a"}));
  const std::string text = edited(print(plan_of(graph)), "s", "f32", "f16");
  EXPECT_SAYS(error_of(text, graph), "small.Stubborn of node 's' does not take f16");
}

TEST(plan, saves_and_loads_files) {
  const Graph graph = chain("AID");
  const PrecisionPlan plan = plan_of(graph);
  const std::string path = testing::TempDir() + "precision.plan";
  save_plan(plan, path);
  EXPECT_EQ(load_plan(path, graph), plan);
  try {
    load_plan(path, chain("AIC"));
    ADD_FAILURE() << "a foreign plan was read";
  } catch (const ModelError& error) {
    EXPECT_SAYS(error.what(), path + ", line 5: the plan belongs to another model");
  }
  std::remove(path.c_str());
  EXPECT_THROW(load_plan(path, graph), DataError);
  EXPECT_THROW(save_plan(plan, "/nowhere/at/all.plan"), DataError);
}

// Names that can be guessed are where others lay their links.
TEST(plan, is_saved_through_no_link_that_somebody_laid) {
  const Graph graph = chain("AID");
  const testing_files::TemporaryFolder folder;
  const std::string victim = folder / "victim", path = folder / "plan.txt";
  testing_files::write_file(victim, "dear");
  std::filesystem::create_symlink(victim, path + ".part");
  save_plan(plan_of(graph), path);
  EXPECT_EQ(testing_files::read_file(victim), "dear");
  save_plan(plan_of(graph), "/dev/null");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(plan, diff_names_what_is_in_one_plan_only) {
  const PrecisionPlan before = plan_of(chain("AI"));
  const PrecisionPlan after = plan_of(chain("AII"), DType::bf16);
  const auto changes = diff(before, after);
  ASSERT_EQ(changes.size(), 5u);
  EXPECT_EQ(changes[0].name, "model");
  EXPECT_EQ(changes[1], (PlanChange{"narrow", "f16", "bf16"}));
  EXPECT_EQ(changes[2], (PlanChange{"n0", "f16 math=f16 seed-allow", "bf16 math=bf16 seed-allow"}));
  EXPECT_EQ(changes[4], (PlanChange{"n2", "", "bf16 infer-extension"}));
  EXPECT_TRUE(diff(after, after).empty());
}

TEST(plan, the_fingerprint_is_of_the_structure) {
  const auto model = [](std::string_view type, double scale, std::string_view weights,
                        const char* node) {
    Graph graph("m");
    const Value x = graph.input("x", TensorType::parse(type));
    const Value w = graph.state(parameter("w", weights));
    const Value c = graph.constant(Tensor::scalar(DType::f32, scale), "c");
    graph.output("y", graph.add(Infer{}, {x, w, c}, {.name = node}));
    return fingerprint(graph);
  };
  const std::string base = model("f32[8,3]", 1, "f32[3,3]", "y");
  EXPECT_EQ(base.size(), 16u);
  EXPECT_EQ(base, model("f32[N,3]", 2, "f32[3,3]", "y"));  // batch and constants are free
  EXPECT_NE(base, model("f32[8,3]", 1, "f32[3,4]", "y"));
  EXPECT_NE(base, model("f32[8,3]", 1, "f32[3,3]", "z"));
  EXPECT_NE(base, model("f32[8,3,1]", 1, "f32[3,3]", "y"));
  EXPECT_NE(fingerprint(chain("AI")), fingerprint(chain("AC")));
}

// Whatever happens to the text: a plan or a ModelError, and a plan that is read can be applied.
TEST(plan, damaged_text_never_does_worse) {
  const Graph graph = chain("AICIADU");
  const std::string text = print(plan_of(graph));
  const std::string pieces[] = {"f16",  "f32", "bf16", "-",        "rule=edited", "math=ieee",
                                "\"",   "#",   "\n",   "rule=",    "cause=n1",    "note=\"x\"",
                                "n0",   "\\",  "\t",   "infer",    "version 1",   "math=f16",
                                "\xff", "=",   " ",    "unlisted", "n1 ",         "ieee"};
  int read = 0;
  for (unsigned seed = 0; seed < 6000; ++seed) {
    std::mt19937 random(seed);
    std::string damaged = text;
    for (unsigned k = 0; k < 1 + seed % 4; ++k) {
      const std::size_t at = random() % (damaged.size() + 1);
      const std::size_t length = std::min<std::size_t>(random() % 8, damaged.size() - at);
      if (random() % 3 == 0)
        damaged.erase(at, length);
      else if (random() % 2 == 0)
        damaged.insert(at, pieces[random() % std::size(pieces)]);
      else if (at < damaged.size())
        damaged[at] = static_cast<char>(random() % 256);
    }
    try {
      const PrecisionPlan plan = read_plan(damaged, graph);
      ++read;
      EXPECT_EQ(read_plan(print(plan), graph), plan) << damaged;
      verify(apply(graph, plan), Stage::precise);
    } catch (const ModelError&) {
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace narrowgauge::plan_test
