// SPDX-License-Identifier: Apache-2.0
// Milliseconds of each prediction of a built-in network at batch 1, one a line. "tiny" is a
// perceptron of 16, 32 and 4, of which a line is the mean of a thousand: what a call costs beside
// its kernels. With "into" the answers go into memory that there is already. Usage:
// bench_predict_latency [MODEL [PREDICTIONS [into]]] (resnet18 50).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "narrowgauge/narrowgauge.h"

using namespace narrowgauge;

namespace {

constexpr const char* tiny = "tiny";

Model network(const std::string& name) {
  if (name == tiny)
    return Model(name, [](Network& net) {
      return net.linear(net.relu(net.linear(net.input("x", {net.batch(), 16}), 32)), 4);
    });
  const ModelFacts& facts = model_facts(name);
  if (facts.input == InputKind::tokens)
    return Model(name, bert_base({.sequence = facts.text.sequence}, Head::classification, 2));
  return Model(name, find_model(name, facts.image, facts.classes));
}

std::vector<Tensor> inputs_of(const std::string& name) {
  if (name == tiny) return {Tensor(DType::f32, {1, 16})};
  const ModelFacts& facts = model_facts(name);
  if (facts.input == InputKind::tokens)
    return std::vector<Tensor>(3, Tensor(DType::i64, {1, facts.text.sequence}));
  return {Tensor(DType::f32, {1, facts.image.channels, facts.image.height, facts.image.width})};
}

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const std::string name = argc > 1 ? argv[1] : "resnet18";
  const int predictions = argc > 2 ? std::atoi(argv[2]) : 50;
  Model model = network(name);
  const bool into = argc > 3 && std::string(argv[3]) == "into";
  const int together = name == tiny ? 1000 : 1;
  const std::vector<Tensor> inputs = inputs_of(name);
  std::vector<Tensor> outputs{model.predict(inputs)};
  const auto predict = [&] {
    if (into)
      model.predict(inputs, outputs);
    else
      model.predict(inputs);
  };
  for (int warm_up = 0; warm_up < 3; ++warm_up) predict();
  for (int i = 0; i < predictions; ++i) {
    const auto start = Clock::now();
    for (int k = 0; k < together; ++k) predict();
    const std::chrono::duration<double, std::milli> passed = Clock::now() - start;
    std::printf("%.6f\n", passed.count() / together);
  }
}
