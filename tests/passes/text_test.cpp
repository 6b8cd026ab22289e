// SPDX-License-Identifier: Apache-2.0
// Passes on text: tests/passes/<pass>.txt holds `before:` and `after:` blocks. Run with
// NARROWGAUGE_UPDATE=1 to write down what the passes give now.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "narrowgauge/graph.h"
#include "ops/table.h"
#include "passes/assign_layout.h"
#include "passes/bind_shapes.h"
#include "passes/differentiate.h"
#include "passes/fold_constants.h"
#include "passes/fuse_elementwise.h"
#include "passes/hoist_derived_state.h"
#include "passes/merge_duplicates.h"
#include "passes/recompute.h"
#include "passes/remove_dead_code.h"

namespace narrowgauge {
namespace {

using Pass = std::function<Graph(const Graph&, const Target&)>;

Pass for_any(Graph (*pass)(const Graph&)) {
  return [pass](const Graph& graph, const Target&) { return pass(graph); };
}

const std::map<std::string, Pass>& passes() {
  static const std::map<std::string, Pass> all{
      {"assign_layout",
       [](const Graph& g, const Target& target) {
         return assign_layout(g, Layout::channels_last, target);
       }},
      {"bind_shapes",
       [](const Graph& g, const Target&) {
         return bind_shapes(g, {{"N", 4}});
       }},
      {"differentiate", for_any(differentiate)},
      {"fold_constants", for_any(fold_constants)},
      {"fuse_elementwise", fuse_elementwise},
      {"hoist_derived_state", for_any(hoist_derived_state)},
      {"merge_duplicates", for_any(merge_duplicates)},
      {"recompute",
       [](const Graph& g, const Target&) {
         return recompute(g, [](const Node& node) { return node.op->info.name == "Relu"; });
       }},
      {"remove_dead_code", for_any(remove_dead_code)}};
  return all;
}

std::filesystem::path folder() {
  const char* root = std::getenv("NARROWGAUGE_SOURCE");
  return std::filesystem::path(root ? root : ".") / "tests" / "passes";
}

struct Case {
  std::string title, before, after;
};

// A file is a sequence of: "# title", "before:", graph, "after:", graph.
std::vector<Case> read_cases(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<Case> cases;
  std::string* block = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# ")) {
      cases.push_back({line, "", ""});
      block = nullptr;
    } else if (line == "before:") {
      block = &cases.back().before;
    } else if (line == "after:") {
      block = &cases.back().after;
    } else if (block) {
      *block += line + '\n';
    }
  }
  return cases;
}

class PassText : public testing::TestWithParam<std::string> {};

TEST_P(PassText, gives_what_the_file_says) {
  const std::filesystem::path path = folder() / (GetParam() + ".txt");
  std::vector<Case> cases = read_cases(path);
  ASSERT_FALSE(cases.empty()) << path;
  const bool update = std::getenv("NARROWGAUGE_UPDATE") != nullptr;
  std::ostringstream written;
  for (const Case& one : cases) {
    const Graph before = parse(one.before, op_table());
    const Pass& pass = passes().at(GetParam());
    const std::string after = print(pass(before, {.isa = Isa::amx}));
    for (const Isa isa : {Isa::avx2, Isa::vnni, Isa::bf16})
      EXPECT_EQ(print(pass(before, {.isa = isa})), after) << one.title << ' ' << name(isa);
    written << one.title << "\nbefore:\n" << print(before) << "after:\n" << after << '\n';
    if (!update) {
      EXPECT_EQ(after + '\n', one.after) << one.title;
    }
  }
  if (update) std::ofstream(path) << written.str();
}

INSTANTIATE_TEST_SUITE_P(each, PassText,
                         testing::Values("assign_layout", "bind_shapes", "differentiate",
                                         "fold_constants", "fuse_elementwise",
                                         "hoist_derived_state", "merge_duplicates", "recompute",
                                         "remove_dead_code"));

}  // namespace
}  // namespace narrowgauge
