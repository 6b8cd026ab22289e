// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>

#include "api/synthetic.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "cli/image_data.h"
#include "cli/interrupt.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t warm_up_batches = 2;
constexpr std::size_t losses_kept = 3;

Optimizer bench_optimizer(const std::string& precision) {
  Optimizer optimizer = sgd(0.01, 0);
  set_amp(optimizer, precision == "f32" ? "off" : precision, {});
  return optimizer;
}

// A model in one precision, on its way.
class Contender {
 public:
  Contender(const BenchTask& task, const BenchModel& model, const std::string& precision)
      : model_(model.name, find_model(model.name, model.image, model.classes),
               static_cast<std::uint64_t>(task.seed)),
        trainer_(model_, softmax_cross_entropy(), bench_optimizer(precision),
                 {.seed = static_cast<std::uint64_t>(task.seed), .threads = task.threads}) {}

  Trainer& trainer() { return trainer_; }

  // Seconds of so many steps; fewer after Ctrl-C.
  double step(std::span<const Tensor> batch, std::int64_t count, BenchRow& row) {
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < count && !interrupted(); ++i) {
      const StepResult result = trainer_.step(batch);
      if (row.losses.size() < losses_kept) row.losses.push_back(result.loss);
      row.skipped_steps += !result.applied();
      ++row.steps;
    }
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  void profile(std::span<const Tensor> batch, std::int64_t count, BenchRow& row) {
    trainer_.enable_profile();
    const std::int64_t before = row.steps;
    row.profiled_milliseconds = 1e3 * step(batch, count, row);
    row.profiled_steps = row.steps - before;
  }

 private:
  Model model_;
  Trainer trainer_;
};

std::string status(const BenchTask& task, const BenchRow& row, const std::string& what) {
  return fmt::format("{}  {}  batch {}  {}", row.model, row.precision, task.batch, what);
}

// The rows of one model, whose precisions run together.
class Rounds {
 public:
  Rounds(const BenchTask& task, std::span<BenchRow> rows, const BenchListener& listener)
      : task_(task), rows_(rows), listener_(listener) {
    const BenchModel model = bench_model(task, rows.front().model);
    for (const BenchRow& row : rows) {
      show_status(status(task_, row, "making weights"));
      contenders_.push_back(std::make_unique<Contender>(task, model, row.precision));
    }
    batch_ = random_batch(contenders_.front()->trainer().graph(), task.batch, model.classes,
                          static_cast<std::uint64_t>(task.seed));
  }

  void run() {
    for (std::size_t i = 0; i < rows_.size() && !interrupted(); ++i) {
      show_status(status(task_, rows_[i], "warming up"));
      contenders_[i]->step(batch_, warm_up_batches, rows_[i]);
    }
    for (std::int64_t k = 0; k < task_.iterations; ++k) run_round(static_cast<std::size_t>(k));
    for (std::size_t i = 0; i < rows_.size() && !interrupted(); ++i) {
      if (task_.roofline) contenders_[i]->profile(batch_, task_.batches, rows_[i]);
      rows_[i].kernels = contenders_[i]->trainer().kernels();
    }
  }

 private:
  // Who begins changes from round to round.
  void run_round(std::size_t round) {
    for (std::size_t turn = 0; turn < rows_.size(); ++turn) {
      const std::size_t i = (turn + round) % rows_.size();
      BenchRow& row = rows_[i];
      show_status(status(task_, row, progress(row)));
      const double seconds = contenders_[i]->step(batch_, task_.batches, row);
      if (interrupted()) return;
      row.rates.push_back(static_cast<double>(task_.batch * task_.batches) / seconds);
      listener_(row);
    }
  }

  std::string progress(const BenchRow& row) const {
    std::string text = fmt::format("iteration {}/{}", row.rates.size() + 1, task_.iterations);
    if (!row.rates.empty()) text += fmt::format("  {} images/s", rate_text(row.rates.back()));
    return text;
  }

  const BenchTask& task_;
  std::span<BenchRow> rows_;
  const BenchListener& listener_;
  std::vector<std::unique_ptr<Contender>> contenders_;
  std::vector<Tensor> batch_;
};

// resnet20 is a network for CIFAR's images, the others for MNIST's.
ImageShape usual_image(const std::string& model) {
  return model == "resnet20" ? ImageShape{3, 32, 32} : ImageShape{};
}

BenchRow examine_one(const BenchTask& task, const BenchModel& model, const std::string& precision,
                     std::int64_t available) {
  BenchRow row{.model = model.name, .precision = precision};
  show_status(status(task, row, "planning its memory"));
  Contender contender(task, model, precision);
  row.memory = training_memory(contender.trainer(), task.batch);
  row.batch_bytes = batch_bytes(contender.trainer().graph(), task.batch);
  const std::int64_t needed = row.memory.total() + row.batch_bytes;
  row.largest_batch = largest_batch(contender.trainer(), available);
  require<DeviceError>(needed <= available, "memory: ", model.name, " in ", precision,
                       " with batch ", grouped(task.batch), " takes ", bytes_text(needed), ", ",
                       bytes_text(available), " can be had; the largest batch that fits is ",
                       grouped(row.largest_batch));
  return row;
}

bool fit_together(std::span<const BenchRow> rows) {
  std::int64_t bytes = rows.front().batch_bytes;
  for (const BenchRow& row : rows) bytes += row.memory.total();
  return bytes <= available_memory();
}

}  // namespace

BenchModel bench_model(const BenchTask& task, const std::string& name) {
  return {name, task.image.value_or(usual_image(name)), task.classes.value_or(10)};
}

std::vector<BenchRow> examine(const BenchTask& task) {
  const ThreadScope threads(task.threads > 0 ? task.threads : thread_count());
  const std::int64_t available = available_memory();
  std::vector<BenchRow> rows;
  for (const std::string& name : task.models)
    for (const std::string& precision : task.precisions)
      rows.push_back(examine_one(task, bench_model(task, name), precision, available));
  show_status("");
  return rows;
}

BenchOutcome run_benchmark(const BenchTask& task, std::vector<BenchRow> rows,
                           const BenchListener& listener) {
  BenchOutcome outcome;
  const ThreadScope threads(task.threads > 0 ? task.threads : thread_count());
  const InterruptScope interrupts;
  const std::size_t width = task.precisions.size();
  for (std::size_t first = 0; first < rows.size() && !interrupted(); first += width) {
    const std::span<BenchRow> of_model(rows.data() + first, width);
    if (task.roofline) outcome.machine = measure_rates(outcome.machine);
    const bool together = fit_together(of_model);
    if (!together) outcome.sequences.push_back(of_model.front().model);
    const std::size_t step = together ? width : 1;
    for (std::size_t i = 0; i < width && !interrupted(); i += step)
      Rounds(task, of_model.subspan(i, step), listener).run();
  }
  if (task.roofline && !interrupted()) outcome.machine = measure_rates(outcome.machine);
  show_status("");
  outcome.interrupted = interrupted();
  for (BenchRow& row : rows)
    if (!row.rates.empty()) outcome.rows.push_back(std::move(row));
  return outcome;
}

}  // namespace narrowgauge::cli
