// SPDX-License-Identifier: Apache-2.0
// What the update of LARS needs for what it is asked to do.
#include "ops/training/lars_update.h"

#include <gtest/gtest.h>

#include "narrowgauge/graph.h"
#include "samples/samples.h"

namespace narrowgauge::lars_update_test {
namespace {

// The message of adding the op without one of its inputs; "" if it is taken.
std::string refused_without(const Sample<LarsUpdate>& sample, std::size_t left_out) {
  Graph graph("update");
  Values inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const SampleInput& input = sample.inputs[i];
    if (!input.present || i == left_out)
      inputs.push_back(absent);
    else
      inputs.push_back(input.constant ? graph.constant(*input.constant)
                                      : graph.input(concat("x", i), input.type));
  }
  try {
    graph.add(sample.op, inputs);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(lars_update, with_momentum_needs_a_velocity) {
  int tried = 0;
  for (const Sample<LarsUpdate>& sample : samples_of<LarsUpdate>()) {
    if (sample.op.momentum == 0) continue;
    EXPECT_EQ(refused_without(sample, sample.inputs.size()), "");
    EXPECT_NE(refused_without(sample, 2).find("needs a velocity"), std::string::npos);
    ++tried;
  }
  EXPECT_GT(tried, 0);
}

}  // namespace
}  // namespace narrowgauge::lars_update_test
