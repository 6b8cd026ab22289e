// SPDX-License-Identifier: Apache-2.0
#include "study/contender.h"

#include <chrono>

#include "api/training/amp_choice.h"
#include "narrowgauge/error.h"
#include "precision/amp.h"

namespace narrowgauge {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t losses_kept = 3;

Optimizer optimizer_in(const std::string& precision) {
  Optimizer optimizer = bench_optimizer();
  if (is_f32(precision)) {
    optimizer.precision.f32_math = parse_math(precision);
    return optimizer;
  }
  const auto amp = parse_amp(precision);
  require(amp && amp->format != DType::f32,
          "benchmark: expected a precision of ieee, f32, dfp16, bf16, f16 or ", "auto, got \"",
          precision, '"');
  enable_mixed_precision(optimizer, amp->format);
  return optimizer;
}

}  // namespace

Optimizer bench_optimizer() { return sgd(0.01, 0); }

TrainingSetup bench_setup(const BenchNetwork& network, const std::string& precision) {
  return set_up_training(network.name, network.build, network.loss, optimizer_in(precision),
                         {.obeys_environment = false});
}

void keep_loss(BenchRow& row, double loss) {
  if (row.losses.size() < losses_kept) row.losses.push_back(loss);
  ++row.steps;
}

Contender::Contender(const BenchTask& task, const BenchNetwork& network,
                     const std::string& precision)
    : batch_size_(task.batch),
      model_(network.name, network.build, static_cast<std::uint64_t>(task.seed)),
      trainer_(model_, network.loss, optimizer_in(precision),
               {.seed = static_cast<std::uint64_t>(task.seed),
                .threads = task.threads,
                .obeys_environment = false}) {}

double Contender::step(std::span<const Tensor> batch, std::int64_t count, const Stop& stop,
                       BenchRow& row) {
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < count && !stop(); ++i) {
    const StepResult result = trainer_.step(batch);
    keep_loss(row, result.loss);
    row.skipped_steps += !result.applied();
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Contender::finish(std::span<const Tensor> batch, std::int64_t profiled, const Stop& stop,
                       BenchRow& row) {
  TrainingProfile& profile = row.profile;
  if (profiled > 0) {
    trainer_.enable_profile();
    const std::int64_t before = row.steps;
    profile.milliseconds = 1e3 * step(batch, profiled, stop, row);
    profile.steps = row.steps - before;
    profile.fused_bytes = most_fused_bytes(trainer_.graph(), trainer_.plan(), batch_size_);
  }
  profile.kernels = trainer_.kernels();
}

}  // namespace narrowgauge
