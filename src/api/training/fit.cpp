// SPDX-License-Identifier: Apache-2.0
// The training loop over a source of data.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "api/training/fit_checkpoints.h"
#include "api/training/trainer_implementation.h"
#include "base/machine/floating_environment.h"
#include "base/threads/parallel.h"
#include "narrowgauge/out_of_memory.h"
#include "train/training_graph.h"

namespace narrowgauge {

namespace {

constexpr int most_bad_losses = 5;  // in a row, before a run counts as diverged

// Keeps the sums of a run and calls the callback.
class Fitting {
 public:
  Fitting(const FitOptions& options, std::int64_t batches, const ProgressCallback& callback)
      : options_(options), callback_(callback) {
    progress_.epochs = options.epochs;
    progress_.batches = batches;
  }

  void begin_epoch(std::int64_t epoch) {
    progress_.epoch = epoch;
    progress_.epoch_done = false;
    progress_.evaluation.reset();
    loss_sum_ = 0;
    loss_count_ = 0;
  }

  // `seconds` of the step, and those before it in which its samples were waited for.
  bool after_step(const StepResult& result, std::int64_t batch, double seconds, double waited) {
    if (progress_steps_++ == 0) {
      result_.first_loss = result.loss;
    } else {
      seconds_ += seconds + waited;  // the first step compiles
      waited_ += waited;
    }
    result_.skipped_steps += !result.applied();
    ++result_.steps;
    if (std::isfinite(result.loss)) loss_sum_ += result.loss, ++loss_count_;
    progress_.batch = batch;
    progress_.last = result;
    progress_.skipped_steps = result_.skipped_steps;
    progress_.mean_loss = loss_count_ > 0 ? loss_sum_ / static_cast<double>(loss_count_) : NAN;
    progress_.samples_per_second = rate();
    progress_.input_share = input_share();
    return tell();
  }

  bool after_epoch(std::optional<Evaluation> evaluation) {
    require<DivergedError>(!evaluation || std::isfinite(evaluation->loss), "the test loss is ",
                           evaluation ? evaluation->loss : 0, " after epoch ", progress_.epoch + 1,
                           "; try a smaller learning rate");
    progress_.epoch_done = true;
    progress_.evaluation = std::move(evaluation);
    result_.final_loss = progress_.mean_loss;
    if (progress_.evaluation) result_.test = *progress_.evaluation;
    return tell();
  }

  // Tells nothing if nothing was written.
  bool after_checkpoint(std::string path) {
    if (path.empty()) return true;
    result_.checkpoint = progress_.checkpoint = std::move(path);
    const bool goes_on = tell();
    progress_.checkpoint.clear();
    return goes_on;
  }

  void require_progress() const {
    require<DivergedError>(result_.steps < most_bad_losses || result_.skipped_steps < result_.steps,
                           "none of ", result_.steps, " steps could be applied, their gradients ",
                           "are not finite; the last loss scale was ", progress_.last.scale);
  }

  FitResult finish(bool stopped, std::string ended_early = "") {
    result_.samples_per_second = rate();
    result_.input_share = input_share();
    result_.stopped = stopped;
    result_.ended_early = std::move(ended_early);
    if (stopped) result_.final_loss = progress_.mean_loss;
    return result_;
  }

 private:
  bool tell() { return !callback_ || callback_(progress_); }
  double rate() const {
    return seconds_ > 0 ? static_cast<double>((progress_steps_ - 1) * options_.batch) / seconds_
                        : 0;
  }
  double input_share() const { return seconds_ > 0 ? waited_ / seconds_ : 0; }

  const FitOptions& options_;
  const ProgressCallback& callback_;
  Progress progress_;
  FitResult result_;
  double loss_sum_ = 0, seconds_ = 0, waited_ = 0;
  std::int64_t loss_count_ = 0, progress_steps_ = 0;
};

// A sample of many labels, such as tokens, has scores for each of them: an evaluation takes no more
// of these at once than the training.
std::int64_t evaluation_batch(const DataSource& test, std::int64_t batch) {
  constexpr std::int64_t usual = 256;
  const TensorType label = test.sample_types().back();
  return is_integer(label.dtype) && !label.shape.empty() ? std::min(usual, batch) : usual;
}

// Evaluates in batches as large as fit into memory beside the training.
Evaluation evaluate_in_what_is_left(Trainer& trainer, const std::shared_ptr<DataSource>& test,
                                    std::int64_t training_batch) {
  try {
    return trainer.evaluate(test, evaluation_batch(*test, training_batch));
  } catch (const OutOfMemoryError& error) {
    if (error.largest_batch == 0) throw;
    return trainer.evaluate(test, error.largest_batch);
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

// Checks the options against what fit() did before, and compiles the step for such batches.
void Trainer::Implementation::begin_fit(const DataSource* source, const DataSource* test,
                                        const FitOptions& how) {
  require(how.epochs >= 1 && how.batch >= 1, "fit: epochs and batch must be at least 1, got ",
          how.epochs, " and ", how.batch);
  require(position.batch == 0 || how.batch == fit_batch,
          "fit: goes on within an epoch of batches of ", fit_batch, ", got a batch of ", how.batch);
  require(how.most_skips >= 1, "fit: most_skips must be at least 1, got ", how.most_skips);
  std::vector<std::string> metrics = options.metrics;
  for (const OwnMetric& own : options.own_metrics) metrics.push_back(own.name);
  check(how.watch, metrics);
  watch_by(watch, how.watch.metric);
  const bool judges =
      how.watch.patience > 0 || how.checkpoints.best || optimizer.schedule.plateau.has_value();
  require(!judges || (test && how.evaluate_each_epoch),
          "fit: patience, the best checkpoint and a plateau need an evaluation after each epoch");
  require(how.batch % options.accumulation == 0, "fit: a batch of ", how.batch,
          " cannot be cut into ", options.accumulation, " equal parts");
  fit_batch = how.batch;
  if (!source || how.batch > source->size()) return;  // the loader refuses
  const ThreadScope threads(options.threads > 0 ? options.threads : thread_count());
  const std::lock_guard alone(model->in_use);
  prepare(*training, *source, how.batch / options.accumulation, source->size() * how.epochs);
}

// Throws after several losses in a row that are not finite.
void Trainer::Implementation::watch_loss(const StepResult& result, std::span<const Tensor> batch) {
  bad_losses = std::isfinite(result.loss) ? 0 : bad_losses + 1;
  if (bad_losses < most_bad_losses) return;
  throw DivergedError(concat("the loss is ", result.loss, " for ", most_bad_losses,
                             " steps in a row, at step ", steps, first_not_finite(result, batch),
                             "; try a smaller learning rate"));
}

// Throws after so many skipped steps in a row.
void Trainer::Implementation::watch_skips(const StepResult& result, std::span<const Tensor> batch,
                                          std::int64_t most) {
  skips = result.applied() ? 0 : skips + 1;
  if (skips < most) return;
  const std::string which =
      skips == 1 ? concat("step ", steps, " was")
                 : concat("the last ", skips, " steps, up to step ", steps, ", were");
  throw DivergedError(concat(which, " skipped: ", name(result.outcome), " at a loss scale of ",
                             result.scale, first_not_finite(result, batch),
                             "; try a smaller learning rate, or bf16"));
}

// Takes an evaluation into account: for the end of the training, and for the rate of a plateau.
Verdict Trainer::Implementation::judge(const Evaluation& result, const FitOptions& how) {
  const std::optional<PlateauSettings>& plateau = optimizer.schedule.plateau;
  if (how.watch.patience == 0 && !how.checkpoints.best && !plateau) return Verdict::none;
  const MetricValue value = watched_in(result, how.watch.metric);
  if (plateau) {
    Plateau follower(*plateau, watch.plateau);
    const double factor = follower.next(value.value);
    watch.plateau = follower.state();
    const std::lock_guard alone(model->in_use);
    model->store.set(rate_factor_name,
                     Tensor::scalar(model->store.at(rate_factor_name).dtype(), factor));
  }
  return narrowgauge::judge(watch, how.watch, value);
}

FitResult Trainer::fit(const std::shared_ptr<DataSource>& training,
                       const std::shared_ptr<DataSource>& test, const FitOptions& options,
                       const ProgressCallback& callback) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  self.begin_fit(training.get(), test.get(), options);
  BatchLoader loader(training,
                     {.batch = options.batch, .seed = self.options.seed, .epochs = options.epochs},
                     self.position);
  Fitting fitting(options, loader.batches_per_epoch(), callback);
  FitCheckpoints checkpoints(*this, options.checkpoints, [&](CheckpointFolder& folder, bool best) {
    return self.add_checkpoint(folder, options.checkpoints, best);
  });
  if (checkpoints.lacks_best()) self.watch.has_best = false;  // that of the values to come is kept
  const auto stop = [&] {
    fitting.after_checkpoint(checkpoints.at_end(true));
    return fitting.finish(true);
  };
  std::string over = why_over(self.watch, options.watch);
  std::int64_t epoch = -1;
  double waited_before = 0;
  while (const std::optional<Batch> batch = over.empty() ? loader.next() : std::nullopt) {
    if (batch->position.epoch != epoch) fitting.begin_epoch(epoch = batch->position.epoch);
    const double waited = loader.waited() - std::exchange(waited_before, loader.waited());
    const auto start = std::chrono::steady_clock::now();
    const StepResult result = step(batch->tensors);
    self.position = loader.position();
    self.watch_loss(result, batch->tensors);
    self.watch_skips(result, batch->tensors, options.most_skips);
    const std::int64_t done = batch->position.batch + 1;
    if (!fitting.after_step(result, done, seconds_since(start), waited) ||
        !fitting.after_checkpoint(checkpoints.after_step()))
      return stop();
    if (done < loader.batches_per_epoch()) continue;
    Verdict verdict = Verdict::none;
    std::optional<Evaluation> evaluation;
    if (test && (options.evaluate_each_epoch || epoch + 1 == options.epochs)) {
      evaluation = evaluate_in_what_is_left(*this, test, options.batch);
      verdict = self.judge(*evaluation, options);
    }
    const bool goes_on = fitting.after_epoch(std::move(evaluation));
    if (!fitting.after_checkpoint(checkpoints.after_epoch(epoch, verdict)) || !goes_on)
      return stop();
    if (epoch + 1 < options.epochs) over = why_over(self.watch, options.watch);
  }
  fitting.require_progress();
  fitting.after_checkpoint(checkpoints.at_end(false));
  FitResult result = fitting.finish(false, std::move(over));
  if (result.steps == 0 && test)
    result.test =
        evaluate_in_what_is_left(*this, test, options.batch);  // resumed after its last epoch
  return result;
}

}  // namespace narrowgauge
