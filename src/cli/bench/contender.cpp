// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/contender.h"

#include <chrono>

#include "api/kernel_cache.h"
#include "api/most_fused.h"
#include "cli/common/interrupt.h"
#include "cli/settings.h"
#include "precision/apply.h"

namespace narrowgauge::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t losses_kept = 3;

Optimizer bench_optimizer(const std::string& precision) {
  Optimizer optimizer = sgd(0.01, 0);
  if (is_f32(precision))
    optimizer.f32_math = parse_math(precision);
  else
    set_amp(optimizer, precision, {});
  return optimizer;
}

void keep_loss(BenchRow& row, double loss) {
  if (row.losses.size() < losses_kept) row.losses.push_back(loss);
  ++row.steps;
}

}  // namespace

TrainingSetup bench_setup(const BenchTask& task, const NetworkChoice& network,
                          const std::string& precision) {
  return set_up_training(network.model, network.build(), network.loss(),
                         bench_optimizer(task.settled(network.model, precision)),
                         {.obeys_environment = false});
}

CompileOptions bench_compilation(std::int64_t batch) {
  CompileOptions options;
  options.binding = {{"N", batch}};
  options.kernels = kernel_cache();
  return options;
}

OwnContender::OwnContender(const BenchTask& task, const NetworkChoice& network,
                           const std::string& precision)
    : batch_(task.batch),
      model_(network.model, network.build(), static_cast<std::uint64_t>(task.seed)),
      trainer_(model_, network.loss(), bench_optimizer(task.settled(network.model, precision)),
               {.seed = static_cast<std::uint64_t>(task.seed), .threads = task.threads}) {}

double OwnContender::step(std::span<const Tensor> batch, std::int64_t count, BenchRow& row) {
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < count && !interrupted(); ++i) {
    const StepResult result = trainer_.step(batch);
    keep_loss(row, result.loss);
    row.skipped_steps += !result.applied();
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void OwnContender::finish(std::span<const Tensor> batch, std::int64_t profiled, BenchRow& row) {
  if (profiled > 0) {
    trainer_.enable_profile();
    const std::int64_t before = row.steps;
    row.profiled_milliseconds = 1e3 * step(batch, profiled, row);
    row.profiled_steps = row.steps - before;
    CompileOptions unfused = bench_compilation(batch_);
    unfused.fuse = false;
    unfused.layout = Layout::plain;
    row.fused_bytes =
        most_fused(run_pipeline(apply(trainer_.graph(), trainer_.plan()), unfused)).bytes();
  }
  row.kernels = trainer_.kernels();
}

double TorchContender::step(std::span<const Tensor>, std::int64_t count, BenchRow& row) {
  const TorchSteps steps = process_.step(precision_, layout_, count);
  for (const double loss : steps.losses) keep_loss(row, loss);
  return steps.seconds;
}

}  // namespace narrowgauge::cli
