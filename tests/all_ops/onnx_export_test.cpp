// SPDX-License-Identifier: Apache-2.0
// Every op as a file of ONNX, read again: it computes the same, or is refused by name. Where
// NARROWGAUGE_EXPORTED names a folder, the files stay there, for other programs to check.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "all_ops/nearness.h"
#include "all_ops/sample_case.h"
#include "io/onnx/export/export.h"
#include "io/onnx/import.h"
#include "io/onnx/read.h"
#include "io/onnx/write.h"
#include "ops/composition/interpret.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge::onnx_export_test {
namespace {

using namespace testing_support;

// Ours without counterpart: of training, and those that passes make of a graph on its way to run.
const std::set<std::string, std::less<>> inexpressible{
    "ng.RandomKey",      "ng.KeptElements", "ng.NormalizeAgain",
    "ng.Fused",          "ng.Relayout",     "ng.GradientHealth",
    "ng.ClipMultiplier", "ng.LearningRate", "ng.SigmoidCrossEntropy",
    "ng.RoundWeight",    "ng.MaxPoolTaken", "ng.RoiAlignTaken"};

bool is_for_training(std::string_view op) {
  return op.ends_with("Gradient") || op.ends_with("Update") || inexpressible.contains(op);
}

// Samples with what only training has.
bool trains(const SampleCase& sample) {
  const std::string op = sample.op->full_name();
  return is_for_training(op) || sample.text.find("dropout=") != std::string::npos ||
         sample.text.find("unbiased=") != std::string::npos;
}

// How many of the sample's outputs ONNX has.
int outputs_of(const SampleCase& sample) {
  const std::string op = sample.op->full_name();
  const int most = op == "BatchNormalization" ? 3 : op == "MaxPool" ? 2 : 100;
  return std::min(most, static_cast<int>(sample.graph().outputs().size()));
}

// A graph of the sample's node, in which the outputs are read that `is_read` says.
template <class IsRead>
Graph graph_of(const SampleCase& sample, const IsRead& is_read) {
  Graph graph;
  const Value made =
      graph.add(*sample.op, sample.attributes, sample.add_inputs(graph), {.name = "tested"});
  for (int o = 0; o < outputs_of(sample); ++o)
    if (is_read(o)) graph.output(concat("out", o), {made.node, o});
  return graph;
}

double bound_of(DType dtype) {
  if (dtype == DType::f16) return 0x1p-9;
  if (dtype == DType::bf16) return 0x1p-6;
  return is_floating(dtype) ? 1e-6 : 0;
}

void expect_near(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.type(), expected.type());
  expect_within(got, expected, bound_of(expected.dtype()) * largest_of({&expected, 1}));
}

void keep(const std::string& bytes, const OpRecord& op, DType dtype) {
  const char* const folder = std::getenv("NARROWGAUGE_EXPORTED");
  static std::map<std::string, int> counts;
  const std::string stem = concat(op.full_name(), '_', dtype);
  if (folder)
    onnx::write_model(concat(folder, '/', stem, '_', counts[stem]++, ".onnx"),
                      onnx::read_model(SharedBytes::holding(bytes), stem));
}

class OnnxExport : public OpTest {
 protected:
  template <class IsRead>
  void check(const SampleCase& sample, DType dtype, const IsRead& is_read) const {
    const Graph graph = graph_of(sample, is_read);
    const std::string bytes = onnx::serialized(onnx::export_graph(graph));
    keep(bytes, *GetParam(), dtype);
    const Graph again =
        onnx::import_graph(onnx::read_model(SharedBytes::holding(bytes), sample.text));
    const auto expected = interpret(graph, sample.fed()), got = interpret(again, sample.fed());
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t o = 0; o < got.size(); ++o) expect_near(got[o], expected[o]);
  }
};

TEST_P(OnnxExport, computes_the_same_when_read_again) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    // Their parts round where they themselves do not.
    if (is_narrow(dtype) && is_for_training(GetParam()->full_name())) continue;
    for_each_case(*GetParam(), dtype, [&](const SampleCase& sample) {
      try {
        check(sample, dtype, [](int) { return true; });
      } catch (const ModelError& error) {
        const bool other_domain = GetParam()->info.domain == "ai.onnx.ml";  // not written
        const bool of_passes = GetParam()->info.stage == Stage::precise;    // in no model
        EXPECT_TRUE(trains(sample) || other_domain || of_passes) << error.what();
        EXPECT_TRUE(std::string_view(error.what()).starts_with("node 'tested")) << error.what();
      }
    });
  }
}

TEST_P(OnnxExport, computes_the_same_where_an_output_alone_is_read_or_left_out) {
  const OpInfo& info = GetParam()->info;
  if (info.domain == "ai.onnx.ml" || info.stage != Stage::built) GTEST_SKIP() << "not written";
  for_each_case(*GetParam(), DType::f32, [&](const SampleCase& sample) {
    if (outputs_of(sample) < 2 || trains(sample)) return;
    for (int chosen = 0; chosen < outputs_of(sample); ++chosen) {
      SCOPED_TRACE(concat("output ", chosen));
      ASSERT_NO_THROW(check(sample, DType::f32, [&](int o) { return o == chosen; }));
      ASSERT_NO_THROW(check(sample, DType::f32, [&](int o) { return o != chosen; }));
    }
  });
}

// ONNX demands running statistics beside what is normalized by the batch, and the state of a
// convolution that goes on.
TEST(onnx_export_of_all_ops, names_the_outputs_that_onnx_demands) {
  std::map<std::string, std::size_t> fewest{{"BatchNormalization", 3}, {"CausalConvWithState", 2}};
  for (const auto& [name, count] : fewest) {
    int checked = 0;
    for_each_case(*op_table().find(name), DType::f32, [&](const SampleCase& sample) {
      if (outputs_of(sample) < 2 || trains(sample)) return;
      const onnx::Model model = onnx::export_graph(graph_of(sample, [](int o) { return o == 0; }));
      const auto& outputs = model.graph.nodes.back().outputs;
      EXPECT_EQ(outputs.size(), count);
      EXPECT_EQ(std::ranges::count(outputs, ""), 0);
      ++checked;
    });
    EXPECT_GT(checked, 0) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(AllOps, OnnxExport, all_ops(), op_name);

}  // namespace
}  // namespace narrowgauge::onnx_export_test
