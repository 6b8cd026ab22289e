// SPDX-License-Identifier: Apache-2.0
// Passes on text: tests/passes/<pass>.txt holds `before:` and `after:` blocks. A pass that asks
// kernels may give another graph for another tier of CPUs: `after amx:`, `after avx2, avx512:`.
// `after:` says that it gives the same for all. Run with NARROWGAUGE_UPDATE=1 to write down what
// the passes give now.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "compile/compile.h"
#include "narrowgauge/graph.h"
#include "ops/table.h"
#include "passes/core/in_f64.h"
#include "passes/fusion/fuse_elementwise.h"
#include "passes/fusion/fuse_tails.h"
#include "passes/fusion/read_moments.h"
#include "passes/layout/assign_layout.h"
#include "passes/quantized/fake_quantization.h"
#include "passes/quantized/fuse_quantized.h"
#include "passes/shapes/bind_shapes.h"
#include "passes/shapes/open_batch.h"
#include "passes/shapes/reshape_last.h"
#include "passes/simplify/attention_in_parts.h"
#include "passes/simplify/decompose.h"
#include "passes/simplify/drop_identities.h"
#include "passes/simplify/fold_constants.h"
#include "passes/simplify/fold_normalizations.h"
#include "passes/simplify/merge_duplicates.h"
#include "passes/simplify/merge_scans.h"
#include "passes/simplify/remove_dead_code.h"
#include "passes/training/batch_statistics.h"
#include "passes/training/differentiate.h"
#include "passes/training/drop_masters.h"
#include "passes/training/hoist_derived_state.h"
#include "passes/training/hoist_state_functions.h"
#include "passes/training/normalize_again.h"
#include "passes/training/recompute.h"
#include "passes/training/untrained_states.h"

namespace narrowgauge::text_test {
namespace {

using Pass = std::function<Graph(const Graph&, const Target&)>;

Pass for_any(Graph (*pass)(const Graph&)) {
  return [pass](const Graph& graph, const Target&) { return pass(graph); };
}

// All parameters in bf16.
Pass without_masters(WeightRounding rounding) {
  return [rounding](const Graph& graph, const Target&) {
    StateFormats formats;
    for (const State& state : graph.states())
      if (state.role == Role::parameter) formats[state.name] = DType::bf16;
    return drop_masters(graph, formats, rounding);
  };
}

const std::map<std::string, Pass>& passes() {
  static const std::map<std::string, Pass> all{
      {"assign_layout",
       [](const Graph& g, const Target& target) {
         return assign_layout(g, Layout::fastest, target);
       }},
      {"attention_in_parts", attention_in_parts},
      {"batch_statistics",
       [](const Graph& g, const Target&) { return with_batch_statistics(g, true); }},
      {"bind_shapes",
       [](const Graph& g, const Target&) {
         return bind_shapes(g, {{"N", 4}});
       }},
      {"decompose", for_any(decompose)},
      {"differentiate", for_any(differentiate)},
      {"drop_identities", for_any(drop_identities)},
      {"drop_masters", without_masters(WeightRounding::stochastic)},
      {"drop_masters_kahan", without_masters(WeightRounding::kahan)},
      {"fake_quantization", for_any(with_fake_quantization)},
      {"fold_constants", for_any(fold_constants)},
      {"fold_normalizations", for_any(fold_normalizations)},
      {"fuse_elementwise", fuse_elementwise},
      {"fuse_quantized", for_any(fuse_quantized)},
      {"fuse_tails", fuse_tails},
      {"hoist_derived_state", for_any(hoist_derived_state)},
      {"hoist_state_functions", for_any(hoist_state_functions)},
      {"in_f64", [](const Graph& g, const Target&) { return in_f64(g); }},
      {"in_f64_kept", [](const Graph& g, const Target&) { return in_f64(g, InputsInF64::kept); }},
      {"merge_duplicates", for_any(merge_duplicates)},
      {"merge_scans", for_any(merge_scans)},
      {"normalize_again", normalize_again},
      {"open_batch", for_any(with_open_batch)},
      // All passes together: the layouts that kernels choose, and the groups that they take.
      {"pipeline",
       [](const Graph& g, const Target& target) { return run_pipeline(g, {.target = target}); }},
      {"read_moments",
       [](const Graph& g, const Target&) {
         return read_moments(g, {{"w", "w.average"}});
       }},
      {"recompute",
       [](const Graph& g, const Target&) {
         return recompute(g, [](const Node& node) { return node.op->info.name == "Relu"; });
       }},
      {"remove_dead_code", for_any(remove_dead_code)},
      {"reshape_last", for_any(reshape_last)},
      {"untrained_states", for_any(with_untrained_states)}};
  return all;
}

std::filesystem::path folder() {
  const char* root = std::getenv("NARROWGAUGE_SOURCE");
  return std::filesystem::path(root ? root : ".") / "tests" / "passes";
}

constexpr std::array tiers{Isa::avx2, Isa::avx512, Isa::vnni, Isa::bf16, Isa::amx};

// A graph after the pass, and the tiers for which it is the result.
struct Result {
  std::vector<Isa> isas;
  std::string text;
};

struct Case {
  std::string title, before;
  std::vector<Result> after;
};

// "after:" or "after avx2, vnni:".
std::vector<Isa> read_tiers(std::string line) {
  std::vector<Isa> isas;
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == ',' || c == ':'; }, ' ');
  std::istringstream words(line.substr(std::string_view("after").size()));
  for (std::string word; words >> word;) isas.push_back(parse_isa(word));
  return isas.empty() ? std::vector<Isa>(tiers.begin(), tiers.end()) : isas;
}

// A file is a sequence of: "# title", "before:", graph, and once or more "after:", graph.
std::vector<Case> read_cases(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<Case> cases;
  std::string* block = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# ")) {
      cases.push_back({line, "", {}});
      block = nullptr;
    } else if (line == "before:") {
      block = &cases.back().before;
    } else if (line.starts_with("after") && line.ends_with(':')) {
      cases.back().after.push_back({read_tiers(line), ""});
      block = &cases.back().after.back().text;
    } else if (block && !line.empty()) {
      *block += line + '\n';
    }
  }
  return cases;
}

std::vector<Result> results_of(const Pass& pass, const Graph& before) {
  std::vector<Result> results;
  for (const Isa isa : tiers) {
    const std::string text = print(pass(before, {.isa = isa}));
    const auto same = std::find_if(results.begin(), results.end(),
                                   [&](const Result& result) { return result.text == text; });
    if (same == results.end())
      results.push_back({{isa}, text});
    else
      same->isas.push_back(isa);
  }
  return results;
}

std::string heading(const Result& result) {
  std::string text = "after";
  if (result.isas.size() < tiers.size())
    for (const Isa isa : result.isas)
      text += concat(isa == result.isas.front() ? " " : ", ", name(isa));
  return text + ":\n";
}

// What the file says of a case, as the update would write it.
std::string text_of(const std::vector<Result>& results) {
  std::string text;
  for (const Result& result : results) text += heading(result) + result.text;
  return text;
}

class PassText : public testing::TestWithParam<std::string> {};

TEST_P(PassText, gives_what_the_file_says) {
  const std::filesystem::path path = folder() / (GetParam() + ".txt");
  const std::vector<Case> cases = read_cases(path);
  ASSERT_FALSE(cases.empty()) << path;
  const bool update = std::getenv("NARROWGAUGE_UPDATE") != nullptr;
  std::ostringstream written;
  for (const Case& one : cases) {
    const Graph before = parse(one.before, op_table());
    const std::string after = text_of(results_of(passes().at(GetParam()), before));
    written << one.title << "\nbefore:\n" << print(before) << after << '\n';
    if (!update) {
      EXPECT_EQ(after, text_of(one.after)) << one.title;
    }
  }
  if (update) std::ofstream(path) << written.str();
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const auto& [name, pass] : passes()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(each, PassText, testing::ValuesIn(pass_names()),
                         [](const auto& each) { return each.param; });

// Whether f32 may be rounded to TF32 is the target's too, not the machine's.
TEST(attention_in_parts, attention_stays_whole_where_the_target_forbids_tf32) {
  const std::vector<Case> cases = read_cases(folder() / "attention_in_parts.txt");
  const Graph before = parse(cases.at(0).before, op_table());
  EXPECT_EQ(print(attention_in_parts(before, {.tf32 = false})), print(before));
  EXPECT_NE(print(attention_in_parts(before, {.tf32 = true})), print(before));
}

}  // namespace
}  // namespace narrowgauge::text_test
