// SPDX-License-Identifier: Apache-2.0
// What the bill of a conversion says, against what the engine's file has.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "api/conversion/engine_form.h"
#include "io/files.h"
#include "narrowgauge/engine.h"
#include "narrowgauge/models.h"
#include "ops/pointwise/arithmetic.h"

namespace narrowgauge::engine_bill_test {
namespace {

ConvertOptions options_for(EnginePrecision precision) {
  const DataSplit split = draw_glyphs(3, 64, 10);
  ConvertOptions options;
  options.precision = precision;
  options.calibration = std::make_shared<TensorSource>(split.train, ImageTransform{});
  options.calibration_samples = 32;
  return options;
}

Value images(Network& net) { return net.input("images", {net.batch(), 1, 28, 28}); }

Value small_network(Network& net) {
  Value x = net.max_pool(net.relu(net.conv(images(net), 8, {.stride = 2}, "first")));
  x = net.relu(net.conv(x, 8, {}, "second"));
  return net.linear(net.flatten(net.global_average_pool(x)), 10, "logits");
}

// Small values go on by themselves, and beside others that are a hundred times as large.
Value branches_of_two_sizes(Network& net) {
  const Value x = images(net);
  const Value small = net.relu(net.conv(x, 8, {.stride = 2}, "small"));
  const Value factor = net.parameter("factor", {}, Initial::constant(100));
  const Value large = net.apply(Mul{}, {net.relu(net.conv(x, 8, {.stride = 2}, "large")), factor});
  const Value weak = net.parameter("weak", {}, Initial::constant(0.001));
  const Value both = net.conv(net.concat({small, large}, 1), 4, {}, "joined");
  return net.concat({net.conv(small, 4, {}, "alone"), net.apply(Mul{}, {both, weak})}, 1);
}

TEST(EngineBill, a_value_beside_larger_ones_keeps_a_scale_for_its_other_readers) {
  ConvertOptions options = options_for(EnginePrecision::int8);
  options.sensitivity = true;
  const Engine engine = convert(Model("two", branches_of_two_sizes), options);
  EXPECT_LT(engine.report().after.error, 0.04);
  for (const ConvertedOp& op : engine.report().ops)
    EXPECT_LT(op.sensitivity.value(), 0.04) << op.name;
}

// The second output is made from the small half of values that are read on one scale.
Value small_beside_large(Network& net) {
  const Value x = images(net);
  const Value small = net.relu(net.conv(x, 8, {.stride = 2}, "small"));
  const Value factor = net.parameter("factor", {}, Initial::constant(100));
  const Value large = net.apply(Mul{}, {net.relu(net.conv(x, 8, {.stride = 2}, "large")), factor});
  const Value both = net.conv(net.concat({small, large}, 1), 16, {.groups = 16}, "rough");
  net.output("part", net.slice(both, 1, 0, 8));
  return both;
}

TEST(EngineBill, has_the_error_of_the_output_that_loses_most) {
  ConvertOptions options = options_for(EnginePrecision::int8);
  options.sensitivity = true;
  options.max_drop = 1000;
  const Engine engine = convert(Model("two", small_beside_large), options);
  EXPECT_GT(engine.report().after.error, 0.1);
  for (const ConvertedOp& op : engine.report().ops)
    EXPECT_EQ(op.sensitivity.value() > 0.1, op.name == "rough") << op.name;
}

std::map<std::string, std::string> formats_in_file(const std::string& path) {
  const Graph graph = Model::from_onnx(path).graph(Mode::evaluate);
  std::map<std::string, std::string> formats;
  for (int i = 0; i < std::ssize(graph.nodes()); ++i)
    if (graph.node(i).op->info.fusion == Fusion::contraction)
      formats[graph.node(i).full_name()] = computes_in(graph, i);
  return formats;
}

TEST(EngineBill, says_of_each_op_what_the_file_has) {
  const testing_files::TemporaryFolder folder;
  const Model model("small", small_network);
  for (const EnginePrecision precision :
       {EnginePrecision::f32, EnginePrecision::bf16, EnginePrecision::f16, EnginePrecision::int8}) {
    const Engine engine = convert(model, options_for(precision));
    engine.save(folder / "engine.onnx");
    std::map<std::string, std::string> listed;
    for (const ConvertedOp& op : engine.report().ops) listed[op.name] = op.precision;
    EXPECT_EQ(listed, formats_in_file(folder / "engine.onnx")) << name(precision);
    EXPECT_EQ(listed.size(), 3U);
  }
}

}  // namespace
}  // namespace narrowgauge::engine_bill_test
