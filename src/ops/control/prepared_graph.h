// SPDX-License-Identifier: Apache-2.0
// A graph whose kernels and memory are made once, to run many times: the body of a loop, a branch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "narrowgauge/graph.h"
#include "narrowgauge/kernel.h"

namespace narrowgauge {

class PreparedGraph {
 public:
  // Asks the kernels of each node. Throws UsageError where none takes it, and where a value is not
  // plain, has elements of less than a byte, or a shape with symbols. The graph must live longer.
  PreparedGraph(const Graph& graph, const Target& target, bool deterministic);

  // Makes kernels ready and memory. Must be called once before run().
  void get_ready();
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
  };

  std::size_t place_of(Value value) const;
  Operand operand_of(Value value) const;
  void add_step(int node, const Target& target, bool deterministic);

  const Graph& graph_;
  std::vector<std::size_t> first_;             // place of output 0, by node
  std::vector<std::int64_t> bytes_;            // by place
  std::vector<void*> address_;                 // by place
  std::vector<std::size_t> inputs_, outputs_;  // places
  std::vector<Step> steps_;
  Tensor memory_, workspace_;
  std::vector<View> in_views_, out_views_;  // of the step that runs
};

}  // namespace narrowgauge
