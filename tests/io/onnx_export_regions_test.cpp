// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan in files that are made from graphs: subgraphs that read outer values by name.
#include <gtest/gtest.h>

#include "io/onnx_exported.h"

namespace narrowgauge::onnx::onnx_export_regions_test {
namespace {

using namespace testing_export;

TEST(onnx_export_regions, lets_subgraphs_read_outer_values_by_name) {
  const std::string text = R"(
    %x = ng.Input {type=f32[2]} : f32[2]
    %rows = ng.Input {type=f32[3,2]} : f32[3,2]
    %outer = Relu(%x) : f32[2]
    %scan = Scan(%x, %rows, %outer) {num_scan_inputs=1, captured=1, body=graph "body" {
      %s = ng.Input {type=f32[2]} : f32[2]
      %row = ng.Input {type=f32[2]} : f32[2]
      %x = ng.Input {type=f32[2]} : f32[2]
      %sum = Add(%s, %row) : f32[2]
      %scaled = Mul(%sum, %x) : f32[2]
      output "sum" = %sum
      output "scaled" = %scaled
    }} : f32[2], f32[3,2]
    output "last" = %scan
    output "all" = %scan@1)";
  const Model model = exported(text);
  const Node& scan = node_named(model.graph, "scan");
  EXPECT_EQ(scan.inputs, (Names{"x", "rows"}));
  const Graph& body = **scan.get<Box<Graph>>("body");
  EXPECT_EQ(body.inputs.size(), 2U);
  EXPECT_EQ(node_named(body, "scaled").inputs[1], "outer");
  expect_same_results(graph_of(text), model, {counting({2}), counting({3, 2})});
}

TEST(onnx_export_regions, writes_loops_and_branches_that_compute_the_same) {
  const std::string text = R"(
    %x = ng.Input {type=f32[2]} : f32[2]
    %step = ng.Input {type=f32[2]} : f32[2]
    %M = Constant {value=i64[]{3}} : i64[]
    %loop = Loop(%M, _, %x, %step) {carried=1, body=graph "body" {
      %i = ng.Input {type=i64[]} : i64[]
      %cond = ng.Input {type=bool[]} : bool[]
      %x = ng.Input {type=f32[2]} : f32[2]
      %by = ng.Input {type=f32[2]} : f32[2]
      %next = Add(%x, %by) : f32[2]
      output "cond" = %cond
      output "next" = %next
      output "seen" = %x
    }} : f32[2], f32[3,2]
    %most = ReduceMax(%loop) {keepdims=0} : f32[]
    %zero = Constant {value=f32[]{0}} : f32[]
    %positive = Greater(%most, %zero) : bool[]
    %if = If(%positive, %loop, %step) {then_branch=graph "then" {
      %a = ng.Input {type=f32[2]} : f32[2]
      %b = ng.Input {type=f32[2]} : f32[2]
      output "same" = %a
    }, else_branch=graph "else" {
      %a = ng.Input {type=f32[2]} : f32[2]
      %b = ng.Input {type=f32[2]} : f32[2]
      %product = Mul(%a, %b) : f32[2]
      output "product" = %product
    }} : f32[2]
    output "chosen" = %if
    output "seen" = %loop@1)";
  const Model model = exported(text);
  EXPECT_EQ(node_named(model.graph, "loop").inputs, (Names{"M", "", "x"}));
  EXPECT_EQ(node_named(model.graph, "if").inputs, Names{"positive"});
  const Graph& then_branch = **node_named(model.graph, "if").get<Box<Graph>>("then_branch");
  EXPECT_TRUE(then_branch.inputs.empty());
  EXPECT_EQ(ops_of(then_branch), Names{"Identity"});
  EXPECT_EQ(then_branch.nodes[0].inputs, Names{"loop"});
  for (const double step : {0.25, -4.0})
    expect_same_results(graph_of(text), model, {counting({2}), counting({2}, step)});
}

}  // namespace
}  // namespace narrowgauge::onnx::onnx_export_regions_test
