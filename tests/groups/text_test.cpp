// SPDX-License-Identifier: Apache-2.0
// Groups on text: tests/groups/<stem>.txt holds a `before:` block and, for each kind of CPU, the
// graph after it is laid out and its groups are formed, on any machine. Run with
// NARROWGAUGE_UPDATE=1 to write down what is formed now.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "groups/group.h"
#include "narrowgauge/graph.h"
#include "ops/table.h"
#include "passes/fusion/form_groups.h"
#include "passes/layout/assign_layout.h"

namespace narrowgauge::text_test {
namespace {

std::filesystem::path folder() {
  const char* root = std::getenv("NARROWGAUGE_SOURCE");
  return std::filesystem::path(root ? root : ".") / "tests" / "groups";
}

std::string formed(const std::string& text, Isa isa) {
  const Target target{.isa = isa};
  return print(
      form_groups(assign_layout(parse(text, op_table()), Layout::fastest, target), target));
}

// The blocks after a graph: one for each result, with the CPUs that give it.
std::string blocks_after(const std::string& before) {
  std::vector<std::pair<std::string, std::string>> results;  // names of CPUs, text
  for (const Isa isa : {Isa::amx, Isa::bf16, Isa::vnni, Isa::avx512, Isa::avx2}) {
    const std::string text = formed(before, isa);
    const auto known = std::find_if(results.begin(), results.end(),
                                    [&](const auto& result) { return result.second == text; });
    if (known == results.end())
      results.emplace_back(name(isa), text);
    else
      known->first += concat(", ", name(isa));
  }
  std::string all;
  for (const auto& [names, text] : results) all += concat("after ", names, ":\n", text);
  return all;
}

struct Case {
  std::string title, before, after;  // `after` with its headlines
};

std::vector<Case> read_cases(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<Case> cases;
  std::string* block = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# ")) {
      cases.push_back({line, "", ""});
      block = &cases.back().before;
    } else if (line.starts_with("after ")) {
      block = &cases.back().after;
      *block += line + '\n';
    } else if (line != "before:" && !line.empty() && block) {
      *block += line + '\n';
    }
  }
  return cases;
}

class GroupText : public testing::TestWithParam<std::string> {};

TEST_P(GroupText, forms_what_the_file_says) {
  const std::filesystem::path path = folder() / (GetParam() + ".txt");
  const std::vector<Case> cases = read_cases(path);
  ASSERT_FALSE(cases.empty()) << path;
  const bool update = std::getenv("NARROWGAUGE_UPDATE") != nullptr;
  std::ostringstream written;
  for (const Case& one : cases) {
    const std::string after = blocks_after(one.before);
    written << one.title << "\nbefore:\n" << one.before << after << '\n';
    if (!update) {
      EXPECT_EQ(after, one.after) << one.title;
    }
  }
  if (update) std::ofstream(path) << written.str();
}

std::vector<std::string> stems() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder()))
    if (entry.path().extension() == ".txt") all.push_back(entry.path().stem());
  std::sort(all.begin(), all.end());
  return all;
}

INSTANTIATE_TEST_SUITE_P(each, GroupText, testing::ValuesIn(stems()));

// The kernel of every group takes at least one group of the texts.
TEST(group_texts, hold_each_group_of_the_table) {
  std::vector<Region> bodies;
  for (const std::string& stem : stems())
    for (const Case& one : read_cases(folder() / (stem + ".txt"))) {
      const Graph graph = parse(formed(one.before, Isa::amx), op_table());
      for (const Node& node : graph.nodes())
        if (node.is<Fused>()) bodies.push_back(node.as<Fused>().body);
    }
  for (const Group& group : group_table())
    EXPECT_TRUE(std::any_of(bodies.begin(), bodies.end(), [&](const Region& body) {
      return group.pattern->match_whole(*body).has_value();
    })) << group.name;
}

}  // namespace
}  // namespace narrowgauge::text_test
