// SPDX-License-Identifier: Apache-2.0
// A graph whose kernels and memory are made once, to run many times: the body of a loop, a branch.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "narrowgauge/graph.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

class PreparedGraph {
 public:
  // Asks the kernels of each node. The last `lasting` inputs stay as they are for many runs, so
  // that kernels may pack them. Throws UsageError where none takes a node, and where a value is not
  // plain, has elements of less than a byte, or a shape with symbols. The graph must live longer.
  PreparedGraph(const Graph& graph, const Target& target, bool deterministic,
                std::size_t lasting = 0);

  // Makes kernels ready and memory. Must be called once before run().
  void get_ready();
  // Packs the constant inputs; before the first run(), and again when these were set anew.
  void pack(std::span<const void* const> inputs);
  // Runs on dense inputs in the order of the graph. Not from several threads at once.
  void run(std::span<const void* const> inputs, const RunContext& context);
  // The dense values of an output after run(), until the next one; maybe an input's memory.
  const void* output(std::size_t o) const { return address_[outputs_[o]]; }
  std::int64_t output_bytes(std::size_t o) const { return bytes_[outputs_[o]]; }

 private:
  static constexpr std::size_t absent_place = static_cast<std::size_t>(-1);
  struct Step {
    Offer offer;
    std::vector<std::size_t> inputs, outputs;  // places; absent_place where there is none
    std::int64_t packed = 0;                   // where its packed inputs lie
  };

  std::size_t place_of(Value value) const;
  Operand operand_of(Value value) const;
  void add_step(int node, const Target& target, bool deterministic);
  void place_inputs(std::span<const void* const> inputs);
  std::span<const View> views_of_inputs(const Step& step);

  const Graph& graph_;
  std::vector<std::size_t> first_;             // place of output 0, by node
  std::vector<std::int64_t> bytes_;            // by place
  std::vector<void*> address_;                 // by place
  std::vector<std::size_t> inputs_, outputs_;  // places
  std::vector<Step> steps_;
  std::set<Value> lasting_;
  Tensor memory_, workspace_, packed_;
  std::vector<View> in_views_, out_views_;  // of the step that runs
};

}  // namespace narrowgauge
