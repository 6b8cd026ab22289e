// SPDX-License-Identifier: Apache-2.0
// The built-in networks in double precision: nothing of their training is left in f32, and they
// compute what they compute in f32.
#include "passes/core/in_f64.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compile/compile.h"
#include "narrowgauge/models.h"
#include "runtime/executor.h"
#include "train/training_graph.h"

namespace narrowgauge::in_f64_test {
namespace {

Graph forward(const BuildNetwork& build, const Loss& loss) {
  Network network("network", Mode::train);
  const Value prediction = build(network);
  network.graph().output("loss", loss(network, prediction));
  return std::move(network.graph());
}

// Whether a node makes f32 in some output that somebody may read.
bool makes_f32(const Node& node) {
  for (std::size_t o = 0; o < node.outputs.size(); ++o)
    if (node.outputs[o].type.dtype == DType::f32 &&
        node.op->output_port(static_cast<int>(o)).name != "narrow_weight")
      return true;
  return false;
}

void expect_no_f32(const std::string& name, const Graph& graph) {
  const Graph training = make_training_graph(in_f64(graph), sgd(0.1));
  for (const Node& node : training.nodes())
    EXPECT_FALSE(makes_f32(node)) << name << ' ' << node.name << ' ' << node.op->full_name();
}

TEST(in_f64, no_network_keeps_f32) {
  for (const std::string& name : model_names()) {
    if (model_facts(name).input == InputKind::tokens) continue;
    expect_no_f32(name,
                  forward(find_model(name, model_facts(name).image, model_facts(name).classes),
                          softmax_cross_entropy()));
  }
  const BertSize size{
      .layers = 2, .width = 32, .heads = 4, .inner = 64, .positions = 16, .token_types = 2};
  expect_no_f32("bert", forward(bert(size, {.sequence = 8, .vocabulary = 50}, Head::classification),
                                softmax_cross_entropy()));
}

struct Step {
  double loss = 0, norm = 0;
};

Step step_of(const Graph& graph) {
  const Graph training = make_training_graph(graph, sgd(0.1));
  StateStore store;
  store.add(training, 3);
  Executor executor(compile(training, {.binding = {{"N", 4}}}), store, 1);
  std::vector<Tensor> batch;
  for (const Value& input : training.inputs()) {
    const TensorType& type = training.type(input);
    Dims dims = known_dims(bind(type.shape, {{"N", 4}}));
    Tensor tensor(type.dtype, dims);
    const bool is_label = !is_floating(type.dtype);
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      tensor.set(i, is_label ? static_cast<double>(i % 10)
                             : static_cast<float>(std::sin(static_cast<double>(i * i % 1009))));
    batch.push_back(std::move(tensor));
  }
  const std::vector<Tensor> results = executor.run(batch);
  Step step;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (training.outputs()[i].name == "loss") step.loss = results[i].at(0);
    if (training.outputs()[i].name == "norm") step.norm = results[i].at(0);
  }
  return step;
}

TEST(in_f64, networks_compute_what_they_do_in_f32) {
  for (const char* name : {"mlp", "lenet", "resnet20"}) {
    const Graph graph = forward(find_model(name, {3, 32, 32}, 10), softmax_cross_entropy());
    const Step narrow = step_of(graph), wide = step_of(in_f64(graph));
    EXPECT_NEAR(narrow.loss, wide.loss, 1e-5 * wide.loss) << name;
    EXPECT_NEAR(narrow.norm, wide.norm, 1e-4 * wide.norm) << name;
    EXPECT_NE(narrow.loss, wide.loss) << name;
  }
}

}  // namespace
}  // namespace narrowgauge::in_f64_test
