// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan with ONNX's semantics. Their regions are closed: values captured from outside
// become inputs after those that ONNX lists. Random ops inside draw new numbers for each node and
// each iteration. A gradient computes the forward regions again: its `stream` names the forward
// node, so that it draws the same numbers.
#pragma once

#include "narrowgauge/graph.h"

namespace narrowgauge {

// inputs: cond, captured...; both branches take the captured values.
struct If {
  static constexpr OpInfo info{
      .name = "If", .inputs = "cond:bool, captured*:any", .outputs = "y*:any"};
  Region then_branch, else_branch;
  std::string stream = {};  // of random numbers; "": the node's own name
  static void attributes(auto& self, auto&& visit) {
    visit("then_branch", self.then_branch);
    visit("else_branch", self.else_branch);
    visit("stream", self.stream);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
  std::vector<RegionPorts> region_ports(int inputs) const;
};

// inputs: M, cond, carried..., captured...; body: (iteration, cond, carried..., captured...) ->
// (cond, carried..., scan outputs...). With scan outputs, M must be constant and cond stay true
// (their length is part of the type). A gradient needs a constant M.
struct Loop {
  static constexpr OpInfo info{
      .name = "Loop", .inputs = "M?:i64, cond?:bool, values*:any", .outputs = "y*:any"};
  Region body;
  std::int64_t carried = 0;  // how many of `values` are carried; the rest are captured
  static void attributes(auto& self, auto&& visit) {
    visit("carried", self.carried);
    visit("body", self.body);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
  std::vector<RegionPorts> region_ports(int inputs) const;
};

// inputs: states..., scanned..., captured...; body: (states..., slices..., captured...) ->
// (states..., scan outputs...). Slices are taken along axis 0.
struct Scan {
  static constexpr OpInfo info{.name = "Scan", .inputs = "values*:any", .outputs = "y*:any"};
  Region body;
  std::int64_t num_scan_inputs = 0;
  std::int64_t captured = 0;
  Dims scan_input_directions;     // 1: backwards; empty: all forwards
  Dims scan_output_directions;    // 1: written backwards
  std::string stream = {};        // of random numbers; "": the node's own name
  bool stream_backwards = false;  // the last step draws what step 0 draws otherwise
  static void attributes(auto& self, auto&& visit) {
    visit("num_scan_inputs", self.num_scan_inputs);
    visit("captured", self.captured);
    visit("scan_input_directions", self.scan_input_directions);
    visit("scan_output_directions", self.scan_output_directions);
    visit("stream", self.stream);
    visit("stream_backwards", self.stream_backwards);
    visit("body", self.body);
  }
  TensorTypes infer(const Inference& in) const;
  Values gradient(Gradient& g) const;
  static std::span<const Kernel> kernels();
  std::vector<RegionPorts> region_ports(int inputs) const;

  int state_count(int inputs) const {
    return inputs - static_cast<int>(num_scan_inputs + captured);
  }
};

}  // namespace narrowgauge
