// SPDX-License-Identifier: Apache-2.0
// Milliseconds of each prediction of a built-in network at batch 1, one a line.
// Usage: bench_predict_latency [MODEL [PREDICTIONS]] (resnet18 50).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "narrowgauge/narrowgauge.h"

using namespace narrowgauge;

namespace {

Model network(const std::string& name) {
  const ModelFacts& facts = model_facts(name);
  if (facts.input == InputKind::tokens)
    return Model(name, bert_base({.sequence = facts.text.sequence}, Head::classification, 2));
  return Model(name, find_model(name, facts.image, facts.classes));
}

std::vector<Tensor> inputs_of(const std::string& name) {
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
  const std::vector<Tensor> inputs = inputs_of(name);
  for (int warm_up = 0; warm_up < 3; ++warm_up) model.predict(inputs);
  for (int i = 0; i < predictions; ++i) {
    const auto start = Clock::now();
    model.predict(inputs);
    std::printf("%.4f\n", std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
}
