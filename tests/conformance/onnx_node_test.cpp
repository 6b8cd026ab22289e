// SPDX-License-Identifier: Apache-2.0
// ONNX's own test cases of single ops (and of functions expanded into several), read from its
// backend tests, run with our kernels. A case that uses an op or a dtype that we lack is counted;
// any other must pass, or stand in onnx_node_exceptions.txt with the reason. What passes stands in
// onnx_node_passes.txt; NARROWGAUGE_UPDATE=1 writes it anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "conformance/onnx_graph.h"
#include "io/onnx/read.h"
#include "support/archive.h"
#include "tensor/values.h"

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

std::vector<Tensor> read_tensors(const fs::path& folder, const std::string& kind) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = folder / (kind + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return tensors;
    tensors.push_back(tensor_from(onnx::read_tensor(path)));
  }
}

// ONNX's own bounds.
constexpr double relative = 1e-3, absolute = 1e-7;

void expect_equal(const Tensor& got, const Tensor& expected) {
  require<CheckError>(got.type() == expected.type(), "expected ", expected.type(), ", got ",
                      got.type());
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double a = got.at(i), e = expected.at(i);
    const bool near = std::abs(a - e) <= absolute + relative * std::abs(e);
    const bool same = a == e || (std::isnan(a) && std::isnan(e));
    const bool equal = is_floating(got.dtype())
                           ? near || same
                           : load_whole(got.dtype(), got.data(), i) ==
                                 load_whole(expected.dtype(), expected.data(), i);
    require<CheckError>(equal, "element ", i, ": expected ", e, ", got ", a);
  }
}

// Throws CheckError where a result differs, Unsupported or UsageError where it cannot be run.
void check_data_set(const onnx::Graph& graph, const fs::path& folder, Known known) {
  const auto inputs = read_tensors(folder, "input"), outputs = read_tensors(folder, "output");
  for (const bool reference : {false, true}) {
    const auto results = OnnxRun(graph, known, reference)(inputs);
    require<CheckError>(results.size() == outputs.size(), "expected ", outputs.size(),
                        " outputs, got ", results.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) try {
        expect_equal(results[i], outputs[i]);
      } catch (const CheckError& error) {
        throw CheckError(
            concat(reference ? "reference" : "kernel", ", output ", i, ": ", error.what()));
      }
  }
}

enum class Outcome { passed, unsupported, failed };
struct Result {
  std::string op;
  Outcome outcome = Outcome::passed;
  std::string reason;
};

void check_tensors(const onnx::Graph& graph) {
  for (const auto* values : {&graph.inputs, &graph.outputs})
    for (const onnx::ValueInfo& value : *values)
      if (value.type && !std::holds_alternative<onnx::DenseTensorType>(value.type->kind))
        throw Unsupported("sequences and optionals");
}

void check_case(const onnx::Graph& graph, const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory()) continue;
    // With as little known beforehand as the ops can do with.
    for (const Known known : {Known::none, Known::all_but_first, Known::all}) try {
        check_data_set(graph, entry, known);
        break;
      } catch (const UsageError&) {
        if (known == Known::all) throw;
      }
  }
}

Result run_case(const fs::path& folder) {
  Result result;
  try {
    const onnx::Graph graph = onnx::read_model(folder / "model.onnx").graph;
    check_tensors(graph);
    result.op = graph.nodes.size() == 1 ? graph.nodes[0].full_name() : "several";
    for (const onnx::Node& node : graph.nodes)
      if (node.op_type != "Constant" && !op_table().find(node.full_name()))
        throw Unsupported("op " + node.full_name());
    check_case(graph, folder);
  } catch (const Unsupported& error) {
    result.outcome = Outcome::unsupported;
    result.reason = error.what();
  } catch (const std::exception& error) {
    result.outcome = Outcome::failed;
    result.reason = error.what();
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
