// SPDX-License-Identifier: Apache-2.0
// What the verifier calls illegal, stage by stage.
#include <gtest/gtest.h>

#include "narrowgauge/graph.h"
#include "ops/activation/relu.h"
#include "ops/math/matmul.h"
#include "ops/pointwise/arithmetic.h"
#include "ops/shape/relayout.h"
#include "ops/training/schedules/learning_rate.h"

namespace narrowgauge::verify_test {
namespace {

const TensorType matrix = TensorType::parse("f32[4,4]");

// "" for a legal graph, or the rule that is broken.
std::string broken_rule(const Graph& graph, Stage stage) {
  try {
    verify(graph, stage);
    return "";
  } catch (const InternalError& error) {
    return error.what();
  }
}

// Illegal before `first`, for a reason that names `word`; legal from there on.
void expect_legal_from(const Graph& graph, Stage first, const std::string& word) {
  for (const Stage stage :
       {Stage::built, Stage::trained, Stage::precise, Stage::fused, Stage::laid_out}) {
    const std::string broken = broken_rule(graph, stage);
    if (stage >= first)
      EXPECT_EQ(broken, "");
    else
      EXPECT_NE(broken.find(word), std::string::npos) << "got: " << broken;
  }
}

TEST(verify, plain_graphs_are_legal_at_every_stage) {
  Graph graph;
  graph.output("y", graph.add(Relu{}, {graph.input("x", matrix)}));
  expect_legal_from(graph, Stage::built, "");
}

TEST(verify, updates_come_with_training) {
  Graph graph;
  const Value steps = graph.input("steps", TensorType::parse("i64[]"));
  graph.output("rate", graph.add(LearningRate{}, {steps}));
  expect_legal_from(graph, Stage::trained, "ng.LearningRate is not legal at this stage");
}

TEST(verify, contracts_come_with_precision) {
  Graph graph;
  const Value x = graph.input("x", matrix);
  graph.output("y", graph.add(MatMul{}, {x, x}, {.math = Math::f32}));
  expect_legal_from(graph, Stage::precise, "math is set before precision");
}

TEST(verify, storages_come_with_layout) {
  Graph graph;
  const Value x = graph.input("x", matrix);
  const Storage transposed{{1, 0}, {}, {}};
  graph.output("y", graph.add(Relayout{}, {x}, {.storages = {transposed}}));
  expect_legal_from(graph, Stage::laid_out, "ng.Relayout is not legal at this stage");
}

TEST(verify, storages_fit_their_types) {
  Graph graph;
  const Value x = graph.input("x", matrix);
  const Storage of_rank_3{{2, 1, 0}, {}, {}};
  graph.output("y", graph.add(Relu{}, {x}, {.storages = {of_rank_3}}));
  EXPECT_NE(broken_rule(graph, Stage::laid_out).find("does not fit f32[4,4]"), std::string::npos)
      << broken_rule(graph, Stage::laid_out);
  for (const char* text : {"01|2:4", "01|1:0"}) {
    Graph blocked;
    const Value b = blocked.input("x", matrix);
    blocked.output("y", blocked.add(Relu{}, {b}, {.storages = {Storage::parse(text)}}));
    EXPECT_NE(broken_rule(blocked, Stage::laid_out).find("does not fit"), std::string::npos)
        << text;
  }
}

TEST(verify, states_keep_their_type) {
  Graph graph;
  graph.state({"w", Role::parameter, matrix, Initial::constant(0), {}, {}});
  const Value other = graph.input("x", TensorType::parse("f32[4]"));
  EXPECT_ANY_THROW({
    graph.set_next("w", other);
    verify(graph, Stage::built);
  });
}

TEST(verify, inputs_and_states_belong_to_their_graph) {
  Graph of_state;
  of_state.output("y", of_state.add(StateValue{matrix}, {}, {.name = "w"}));
  EXPECT_NE(broken_rule(of_state, Stage::built).find("node 'w': belongs to no state"),
            std::string::npos);
  Graph of_input;
  of_input.output("y", of_input.add(Input{matrix}, {}, {.name = "x"}));
  EXPECT_NE(broken_rule(of_input, Stage::built).find("is not among the graph's inputs"),
            std::string::npos);
}

}  // namespace
}  // namespace narrowgauge::verify_test
