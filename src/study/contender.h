// SPDX-License-Identifier: Apache-2.0
// A network of a benchmark in one precision, as it trains.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "api/training/training_setup.h"
#include "narrowgauge/bench.h"

namespace narrowgauge {

using Stop = std::function<bool()>;

// How a network trains in one of the precisions but "auto"; no weights are made for it. Throws
// UsageError for an unknown precision.
TrainingSetup bench_setup(const BenchNetwork& network, const std::string& precision);

// SGD with a rate that suits any network for a few steps.
Optimizer bench_optimizer();

// Notes a step's loss; rows keep those of the first steps.
void keep_loss(BenchRow& row, double loss);

class Contender {
 public:
  Contender(const BenchTask& task, const BenchNetwork& network, const std::string& precision);

  // Returns the seconds of `count` steps, or fewer once `stop` says so, and notes in `row` how they
  // went.
  double step(std::span<const Tensor> batch, std::int64_t count, const Stop& stop, BenchRow& row);
  // Notes which kernels ran; with `profiled` > 0 after so many more steps, each kernel timed.
  void finish(std::span<const Tensor> batch, std::int64_t profiled, const Stop& stop,
              BenchRow& row);

  const Model& model() const { return model_; }
  Graph graph() const { return trainer_.graph(); }

 private:
  std::int64_t batch_size_;
  Model model_;
  Trainer trainer_;
};

}  // namespace narrowgauge
