// SPDX-License-Identifier: Apache-2.0
// ONNX's own test cases of single ops (and of functions expanded into several), read from its
// backend tests, run with our kernels. A case must pass, or stand in onnx_node_exceptions.txt with
// the reason. What passes stands in onnx_node_passes.txt; NARROWGAUGE_UPDATE=1 writes it and
// docs/operators.md anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "conformance/onnx_cases.h"
#include "io/onnx/import/conversions.h"
#include "io/onnx/import/handlers.h"
#include "ops/composition/composite.h"
#include "ops/no_gradient.h"
#include "ops/table.h"
#include "support/archive.h"

namespace narrowgauge::testing_support::onnx_node_test {
namespace {

namespace fs = std::filesystem;

fs::path source_root() {
  const char* root = std::getenv("NARROWGAUGE_SOURCE");
  return root ? root : ".";
}

fs::path archive() { return data_folder() / "onnx_backend" / "node.tar.xz"; }

std::vector<fs::path> cases_of(const UnpackedArchive& archive) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(archive.folder() / "node"))
    found.push_back(entry);
  std::sort(found.begin(), found.end());
  return found;
}

struct Result {
  std::string op;
  bool passed = true;
  std::string reason;  // why not
};

Result run_case(const fs::path& folder) {
  Result result;
  try {
    const onnx::Model model = onnx::read_model(folder / "model.onnx");
    const auto& nodes = model.graph.nodes;
    result.op = nodes.size() == 1 ? nodes[0].full_name() : "several";
    check_case(model, folder);
  } catch (const std::exception& error) {
    result.reason = error.what();
    result.passed = false;
  }
  return result;
}

// "name" or "name: reason" on each line; '#' begins a comment.
std::map<std::string, std::string> read_list(const fs::path& path) {
  std::map<std::string, std::string> entries;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(": ");
    entries[line.substr(0, colon)] = colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return entries;
}

using Results = std::map<std::string, Result>;  // by case

void write_passes(const fs::path& path, const Results& results) {
  std::ofstream out(path);
  out << "# Cases of ONNX's backend tests that pass; see onnx_node_test.cpp.\n";
  for (const auto& [key, result] : results)
    if (result.passed) out << key << '\n';
}

struct Count {
  int passed = 0, all = 0;
};

// Whether the importer makes another op of it, as of those that newer ones took the place of.
bool is_converted(const std::string& op) {
  return std::ranges::any_of(onnx::conversions_of_meaning(),
                             [&](const onnx::Conversion& each) { return each.op == op; });
}

const onnx::NamedHandler* handler_of(const std::string& op) {
  const onnx::NamedHandler* const found = onnx::find_handler(op);
  return found ? found : onnx::find_text_handler(op);
}

std::string kind_of(const std::string& op) {
  const OpRecord* const record = op_table().find(op);
  if (!record) return handler_of(op) ? "at import" : is_converted(op) ? "as a newer op" : "no";
  return is_composite(*record) ? "of other ops" : "with kernels";
}

std::string gradient_of(const std::string& op) {
  const OpRecord* const record = op_table().find(op);
  const onnx::NamedHandler* const handler = handler_of(op);
  if (!record && !handler) return is_converted(op) ? "of its parts" : "no";
  std::string_view reason = record ? why_no_gradient(*record) : "";
  if (reason.empty() && handler) reason = handler->no_gradient;
  if (!reason.empty()) return concat("none: ", reason);
  if (!record || !record->gradient) return !record || record->decompose ? "of its parts" : "no";
  return "yes";
}

void write_operators(const fs::path& path, const Results& results,
                     const std::map<std::string, std::string>& exceptions) {
  std::map<std::string, Count> counts;
  Count all;
  for (const auto& [key, result] : results)
    for (Count* count : {&counts[result.op], &all}) {
      ++count->all;
      count->passed += result.passed;
    }
  std::ofstream out(path);
  out << "# Operators of ONNX\n\nONNX's own test cases of single ops, run in float and integer "
         "formats by the kernels and by the\nreferences. `tests/conformance` writes this page. "
      << all.passed << " of " << all.all << " cases pass.\n\n"
      << "| op | cases | computed | gradient |\n|---|---|---|---|\n";
  for (const auto& [op, count] : counts)
    if (op != "several")
      out << "| " << op << " | " << count.passed << " of " << count.all << " | " << kind_of(op)
          << " | " << gradient_of(op) << " |\n";
  out << "\nOps that ONNX writes out as several: " << counts["several"].passed << " of "
      << counts["several"].all << " cases.\n\n## What does not pass, and why\n\n";
  for (const auto& [key, reason] : exceptions) out << "- `" << key << "`: " << reason << '\n';
}

TEST(onnx_nodes, give_the_results_of_onnx) {
  if (!fs::exists(archive())) GTEST_SKIP() << "no " << archive().string();
  if (std::system("command -v xz >/dev/null") != 0) GTEST_SKIP() << "no xz to unpack it with";
  const UnpackedArchive unpacked(archive());
  Results results;
  for (const fs::path& folder : cases_of(unpacked)) results[folder.filename()] = run_case(folder);

  const fs::path lists = source_root() / "tests" / "conformance";
  const auto exceptions = read_list(lists / "onnx_node_exceptions.txt");
  if (std::getenv("NARROWGAUGE_UPDATE")) {
    write_passes(lists / "onnx_node_passes.txt", results);
    write_operators(source_root() / "docs" / "operators.md", results, exceptions);
  }
  const auto passes = read_list(lists / "onnx_node_passes.txt");
  std::cout << "    " << passes.size() << " of " << results.size() << " cases are to pass\n";
  EXPECT_FALSE(passes.empty());
  for (const auto& [key, result] : results) {
    if (result.passed)
      EXPECT_FALSE(exceptions.contains(key)) << key << " is no longer an exception";
    else if (passes.contains(key))
      ADD_FAILURE() << key << " passed before: " << result.reason;
    else
      EXPECT_TRUE(exceptions.contains(key)) << key << " fails: " << result.reason;
  }
  for (const auto& [key, reason] : exceptions)
    EXPECT_TRUE(results.contains(key)) << key << " is no case: " << reason;
}

}  // namespace
}  // namespace narrowgauge::testing_support::onnx_node_test
