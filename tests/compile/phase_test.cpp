// SPDX-License-Identifier: Apache-2.0
// The phase of what training's graph holds, before and after compilation.
#include <gtest/gtest.h>

#include "compile/compile.h"
#include "groups/fused.h"
#include "narrowgauge/models.h"
#include "narrowgauge/optimizer.h"
#include "precision/apply.h"
#include "precision/colouring/policy.h"
#include "train/training_graph.h"

namespace narrowgauge::phase_test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The training in f16, without a loss scale: what is flushed then matters.
Graph training_of_resnet20() {
  Network network("resnet20", Mode::train);
  const Value prediction = find_model("resnet20", {3, 32, 32}, 10)(network);
  network.graph().output("loss", softmax_cross_entropy()(network, prediction));
  Optimizer optimizer = sgd(0.1);
  enable_mixed_precision(optimizer, DType::f16);
  const Graph graph = make_training_graph(network.graph(), optimizer);
  return apply(graph, make_precision_plan(graph, optimizer.precision));
}

TEST(phase, tells_the_passes_of_training_apart) {
  const Graph graph = training_of_resnet20();
  int count[3] = {};
  for (const Node& node : graph.nodes()) {
    if (node.is<StateValue>()) continue;
    ++count[static_cast<int>(node.phase)];
    const bool backward = has(node.full_name(), ".gradient/");
    const bool update = has(node.name, ".update") || node.name.starts_with("training/") ||
                        has(node.name, ".advance");
    EXPECT_EQ(node.phase, backward ? Phase::backward
                          : update ? Phase::update
                                   : Phase::forward)
        << node.full_name();
  }
  for (const int nodes : count) EXPECT_GT(nodes, 20);
}

// Groups and relayouts of the forward pass are made by passes too, as those of the backward are.
TEST(phase, flushed_values_are_counted_in_gradients_alone) {
  const Plan plan = compile(training_of_resnet20(), {.binding = {{"N", 32}}});
  int counted = 0, forward_groups = 0;
  for (const PlanStep& step : plan.steps)
    for (const PlanOutput& output : step.outputs) {
      if (output.type.dtype != DType::f16 || output.value.empty()) continue;
      const bool gradient = has(output.value, ".gradient/");
      EXPECT_EQ(output.counts_flushed, gradient) << output.value;
      counted += output.counts_flushed;
      forward_groups += !gradient && step.op == "ng.Fused";
    }
  EXPECT_GT(counted, 20);
  EXPECT_GT(forward_groups, 10);
}

}  // namespace
}  // namespace narrowgauge::phase_test
