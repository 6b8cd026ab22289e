// SPDX-License-Identifier: Apache-2.0
// What a step of a network costs through Step, over Trainer::step: both by turns on one batch, so
// that whatever else the machine does reaches both.
// Usage: bench_step_overhead [MODEL [BATCH [PAIRS]]] (lenet 128 200).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "narrowgauge/narrowgauge.h"

using namespace narrowgauge;

namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <class Call>
double milliseconds(const Call& call) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  call();
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "lenet";
  const std::int64_t batch = argc > 2 ? std::atoll(argv[2]) : 128;
  const int pairs = argc > 3 ? std::atoi(argv[3]) : 200;
  const ModelFacts& facts = model_facts(name);
  const BuildNetwork build = find_model(name, facts.image, facts.classes);
  Model trained(name, build), stepped(name, build);
  Trainer trainer(trained, softmax_cross_entropy(), sgd(0.01));
  Step step(
      stepped, [&](Network& net) { return softmax_cross_entropy()(net, build(net)); }, sgd(0.01));
  const Tensor data[] = {
      Tensor(DType::f32, {batch, facts.image.channels, facts.image.height, facts.image.width}),
      Tensor(DType::i64, {batch})};
  std::vector<double> by_trainer, by_step, ratios;
  for (int pair = -5; pair < pairs; ++pair) {
    double first = 0, second = 0;
    const auto train = [&] { first = milliseconds([&] { trainer.step(data); }); };
    const auto take_step = [&] { second = milliseconds([&] { step.step(data); }); };
    if (pair % 2 == 0) train();
    take_step();
    if (pair % 2 != 0) train();
    if (pair < 0) continue;  // compiles and warms up
    by_trainer.push_back(first);
    by_step.push_back(second);
    ratios.push_back(second / first);
  }
  std::printf("%s, batch %lld: Trainer %.3f ms, Step %.3f ms, median of ratios %.3f\n",
              name.c_str(), static_cast<long long>(batch), median(by_trainer), median(by_step),
              median(ratios));
}
