// SPDX-License-Identifier: Apache-2.0
// What trains in the benchmark: a model of ours in one precision, or torch's.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "api/training_setup.h"
#include "cli/bench/task.h"
#include "cli/bench/torch_process.h"
#include "compile/compile.h"

namespace narrowgauge::cli {

class Contender {
 public:
  virtual ~Contender() = default;
  // Returns the seconds of `count` steps, or fewer after Ctrl-C, and notes in `row` how they went.
  virtual double step(std::span<const Tensor> batch, std::int64_t count, BenchRow& row) = 0;
  // Adds what is known at the end; with `profiled` > 0 after so many more steps, each kernel timed.
  virtual void finish(std::span<const Tensor> batch, std::int64_t profiled, BenchRow& row) = 0;
};

// How one of our models trains; no weights are made for it.
TrainingSetup bench_setup(const BenchTask& task, const NetworkChoice& network,
                          const std::string& precision);
// How a model's graph is compiled once it has its precision.
CompileOptions bench_compilation(std::int64_t batch);

class OwnContender : public Contender {
 public:
  OwnContender(const BenchTask& task, const NetworkChoice& network, const std::string& precision);
  double step(std::span<const Tensor> batch, std::int64_t count, BenchRow& row) override;
  void finish(std::span<const Tensor> batch, std::int64_t profiled, BenchRow& row) override;

  const Model& model() const { return model_; }
  Graph graph() const { return trainer_.graph(); }

 private:
  std::int64_t batch_;
  Model model_;
  Trainer trainer_;
};

// Trains in torch; the batch is the one that the process was opened with.
class TorchContender : public Contender {
 public:
  TorchContender(TorchProcess& process, const BenchRow& row)
      : process_(process), precision_(row.precision), layout_(row.torch_layout) {}
  double step(std::span<const Tensor> batch, std::int64_t count, BenchRow& row) override;
  void finish(std::span<const Tensor>, std::int64_t, BenchRow&) override {}

 private:
  TorchProcess& process_;
  std::string precision_, layout_;
};

}  // namespace narrowgauge::cli
