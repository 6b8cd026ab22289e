// SPDX-License-Identifier: Apache-2.0
// The contractions of a plan, each timed alone: in its storage and precision, on random data, by
// the kernel that the plan chose.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compile/lone_kernel.h"
#include "compile/plan.h"
#include "narrowgauge/contraction_time.h"

namespace narrowgauge {

// The contractions of a plan, not yet timed, in its order. Nodes with the same op, attributes,
// operands and kernel count as one.
std::vector<ContractionTime> distinct_contractions(const Plan& plan);

// One contraction of a plan, which must live longer, on memory of its own.
class ContractionRun {
 public:
  ContractionRun(const Plan& plan, const std::string& node);
  double milliseconds(Stopwatch& stopwatch);
  const PlanStep& step() const { return *step_; }

 private:
  const PlanStep* step_;
  std::unique_ptr<LoneKernel> kernel_;
  Tensor packed_;
};

// Times a contraction: runs it for about so many seconds and at least so many times, after one run
// that warms up.
void time_contraction(const Plan& plan, ContractionTime& contraction, double seconds,
                      std::size_t least = 3);

// All contractions of a plan, timed.
std::vector<ContractionTime> time_contractions(const Plan& plan, double seconds_each);

// The speed of one of several plans for the same work.
struct WayTimes {
  double flops = 0, milliseconds = 0;  // of the nodes, each one's best run
  double gflops() const { return milliseconds > 0 ? 1e-6 * flops / milliseconds : 0; }
};
// Runs each of the nodes in turn in all plans that have it. One result for each plan; empty if
// other programs kept the cores too busy to tell.
std::vector<WayTimes> time_by_turns(std::span<const Plan* const> plans,
                                    std::span<const std::string> nodes, Stopwatch& stopwatch);

}  // namespace narrowgauge
