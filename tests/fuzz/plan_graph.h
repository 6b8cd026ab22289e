// SPDX-License-Identifier: Apache-2.0
// The graph that fuzzed plans belong to: contractions, a normalization and a region.
#pragma once

#include "narrowgauge/graph.h"
#include "ops/table.h"

namespace narrowgauge::fuzz {

inline constexpr std::string_view plan_graph_text = R"(graph "planned" {
  %x = ng.Input {type=f32[2,4]} : f32[2,4]
  %w = ng.State {type=f32[4,4]} : f32[4,4]
  %h = ng.Input {type=f32[2,4]} : f32[2,4]
  %xs = ng.Input {type=f32[3,2,4]} : f32[3,2,4]
  %product = MatMul(%x, %w) : f32[2,4]
  %relu = Relu(%product) : f32[2,4]
  %"odd name" = Exp(%relu) : f32[2,4]
  %again = MatMul(%relu, %w) : f32[2,4]
  %scan = Scan(%h, %xs) {num_scan_inputs=1, body=graph "body" {
    %h = ng.Input {type=f32[2,4]} : f32[2,4]
    %x = ng.Input {type=f32[2,4]} : f32[2,4]
    %next = Add(%h, %x) : f32[2,4]
    output "h" = %next
    output "all" = %next
  }} : f32[2,4], f32[3,2,4]
  %last = Add(%scan, %again) : f32[2,4]
  state %w role=parameter initial=normal(0, 0.5) next=%w
  output "odd" = %"odd name"
  output "last" = %last
}
)";

inline Graph plan_graph() { return parse(plan_graph_text, op_table()); }

}  // namespace narrowgauge::fuzz
