// SPDX-License-Identifier: Apache-2.0
// ONNX's own test cases of single ops (and of functions expanded into several), read from its
// backend tests, run with our kernels. A case that uses an op or a dtype that we lack is counted;
// any other must pass, or stand in onnx_node_exceptions.txt with the reason. What passes stands in
// onnx_node_passes.txt; NARROWGAUGE_UPDATE=1 writes it anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "conformance/onnx_cases.h"
#include "support/archive.h"

namespace narrowgauge::testing {
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

enum class Outcome { passed, unsupported, failed };
struct Result {
  std::string op;
  Outcome outcome = Outcome::passed;
  std::string reason;
};

// What a model needs that this program does not have is not a failure.
bool is_unsupported(std::string_view message) {
  return message.find("is not supported") != message.npos ||
         message.find("unknown op") != message.npos ||
         message.find("has no counterpart") != message.npos;
}

Result run_case(const fs::path& folder) {
  Result result;
  try {
    const onnx::Model model = onnx::read_model(folder / "model.onnx");
    const auto& nodes = model.graph.nodes;
    result.op = nodes.size() == 1 ? nodes[0].full_name() : "several";
    check_case(model, folder);
  } catch (const std::exception& error) {
    result.reason = error.what();
    result.outcome = is_unsupported(result.reason) ? Outcome::unsupported : Outcome::failed;
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

struct Count {
  int passed = 0, unsupported = 0, failed = 0;
};

void report(const std::map<std::string, Result>& results) {
  std::map<std::string, Count> by_op;
  std::map<std::string, int> reasons;
  Count all;
  for (const auto& [key, result] : results)
    for (Count* count : {&by_op[result.op], &all}) {
      count->passed += result.outcome == Outcome::passed;
      count->unsupported += result.outcome == Outcome::unsupported;
      count->failed += result.outcome == Outcome::failed;
      if (result.outcome == Outcome::unsupported && count == &all) ++reasons[result.reason];
    }
  for (const auto& [op, count] : by_op)
    if (count.passed + count.failed > 0)
      std::cout << "    " << op << ": " << count.passed << " passed, " << count.unsupported
                << " unsupported, " << count.failed << " failed\n";
  std::cout << "    unsupported:";
  for (const auto& [reason, count] : reasons) std::cout << ' ' << reason << " (" << count << "),";
  std::cout << "\n    " << results.size() << " cases: " << all.passed << " passed, "
            << all.unsupported << " unsupported, " << all.failed << " failed\n";
}

void write_passes(const fs::path& path, const std::map<std::string, Result>& results) {
  std::ofstream out(path);
  out << "# Cases of ONNX's backend tests that pass; see onnx_node_test.cpp.\n";
  for (const auto& [key, result] : results)
    if (result.outcome == Outcome::passed) out << key << '\n';
}

TEST(onnx_nodes, give_the_results_of_onnx) {
  if (!fs::exists(archive())) GTEST_SKIP() << "no " << archive().string();
  if (std::system("command -v xz >/dev/null") != 0) GTEST_SKIP() << "no xz to unpack it with";
  const UnpackedArchive unpacked(archive());
  std::map<std::string, Result> results;
  for (const fs::path& folder : cases_of(unpacked)) results[folder.filename()] = run_case(folder);
  report(results);

  const fs::path lists = source_root() / "tests" / "conformance";
  if (std::getenv("NARROWGAUGE_UPDATE")) write_passes(lists / "onnx_node_passes.txt", results);
  const auto passes = read_list(lists / "onnx_node_passes.txt");
  const auto exceptions = read_list(lists / "onnx_node_exceptions.txt");
  EXPECT_FALSE(passes.empty());
  for (const auto& [key, result] : results) {
    if (passes.contains(key)) {
      EXPECT_EQ(result.outcome, Outcome::passed) << key << " passed before: " << result.reason;
    } else if (result.outcome == Outcome::failed) {
      EXPECT_TRUE(exceptions.contains(key)) << key << " fails: " << result.reason;
    }
  }
  for (const auto& [key, reason] : exceptions)
    EXPECT_TRUE(results.contains(key) && results.at(key).outcome != Outcome::passed)
        << key << " is no longer an exception: " << reason;
}

}  // namespace
}  // namespace narrowgauge::testing
