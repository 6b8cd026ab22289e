// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "api/trainer_implementation.h"
#include "api/training_setup.h"
#include "base/parallel.h"
#include "train/metrics/metric.h"
#include "train/training_graph.h"

namespace narrowgauge {

namespace {

StepResult read_result(const Plan& plan, const std::vector<Tensor>& results) {
  const auto value = [&](std::string_view name) {
    for (std::size_t i = 0; i < results.size(); ++i)
      if (plan.outputs[i].value == name) return results[i].at(0);
    throw InternalError(concat("a training graph without the output '", name, "'"));
  };
  StepResult result;
  result.outcome = static_cast<StepOutcome>(static_cast<int>(value("reason")));
  result.loss = value("loss");
  result.scale = value("scale");
  result.norm = value("norm");
  result.learning_rate = value("learning_rate");
  return result;
}

}  // namespace

Trainer::Trainer(Model& model, Loss loss, Optimizer optimizer, TrainerOptions options)
    : implementation_(std::make_unique<Implementation>()) {
  Implementation& self = *implementation_;
  require(options.threads >= 0 && options.threads <= 4096,
          "trainer: expected threads from 0 to 4096, got ", options.threads);
  for (const std::string& metric : options.metrics) find_metric(metric);
  self.model = &ModelAccess::of(model);
  TrainingSetup setup = set_up_training(self.model->name, self.model->build, loss,
                                        std::move(optimizer), std::move(options));
  self.loss = std::move(loss);
  self.optimizer = std::move(setup.optimizer);
  self.options = std::move(setup.options);
  self.training_graph = std::move(setup.graph);
  self.plan = std::move(setup.plan);
  CompileOptions compile_options;
  compile_options.deterministic = self.options.deterministic;
  compile_options.trace = self.options.trace;
  compile_options.kernels = &self.kernels;
  self.training = std::make_unique<Program>(setup.computed, compile_options, self.model->store,
                                            self.options.seed, self.options.recompute);
  const std::lock_guard alone(self.model->in_use);
  // Removes the states of an earlier Trainer, which may have computed in another format.
  self.model->store.remove({Role::moment, Role::control, Role::derived});
  const bool wide = self.optimizer.precision.in_f64;
  if (wide)
    self.model->set_precision(self.optimizer.precision);
  else
    self.model->set_precision(self.plan);
  self.model->store.add(wide ? setup.computed : self.training_graph, self.model->seed);
  self.number = ++self.model->trainers;
}

Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;

void Trainer::Implementation::require_latest() const {
  require(number == model->trainers, "model '", model->name,
          "': a newer Trainer has taken it over, this one can train it no more");
}

StepResult Trainer::step(std::span<const Tensor> batch) {
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_latest();
  const ThreadScope threads(self.options.threads > 0 ? self.options.threads : thread_count());
  const Program::Lease executor = self.training->executor_for(batch);
  executor->enable_profile(self.profile);
  const std::vector<Tensor> results = executor->run(batch, self.steps);
  ++self.steps;
  return read_result(executor->plan(), results);
}

Program* Trainer::Implementation::known_evaluation() const {
  return evaluation_precision == model->precisions ? evaluation.get() : nullptr;
}

Program& Trainer::Implementation::evaluation_program() {
  if (!known_evaluation()) {
    CompileOptions compile_options;
    compile_options.deterministic = options.deterministic;
    compile_options.kernels = &kernels;
    evaluation = std::make_unique<Program>(
        model->with_precision(loss_graph(model->name, model->build, loss, Mode::evaluate)),
        compile_options, model->store, options.seed);
    evaluation_precision = model->precisions;
  }
  return *evaluation;
}

void Trainer::Implementation::prepare(Program& program, const DataSource& source,
                                      std::int64_t batch, std::int64_t samples) {
  TensorTypes inputs = source.sample_types();
  for (TensorType& type : inputs) type.shape.insert(type.shape.begin(), Dim(batch));
  program.prepare(inputs, samples);
}

namespace {

// The number of rows that hold a value that is not finite.
std::int64_t count_not_finite(const Tensor& prediction) {
  const std::int64_t rows = prediction.dims().empty() ? 1 : prediction.dims()[0];
  const std::int64_t width = rows > 0 ? prediction.size() / rows : 0;
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t i = row * width;
    while (i < (row + 1) * width && std::isfinite(prediction.at(i))) ++i;
    count += i < (row + 1) * width;
  }
  return count;
}

// The means of metrics over batches.
class Measuring {
 public:
  explicit Measuring(const std::vector<std::string>& names) : names_(names) {
    for (const std::string& name : names) chosen_.push_back(find_metric(name));
    sums_.resize(names.size());
  }

  void add(const MetricBatch& batch) {
    for (std::size_t i = 0; i < chosen_.size(); ++i) sums_[i] += chosen_[i].sum(batch);
    samples_ += batch.samples;
  }

  std::int64_t samples() const { return samples_; }
  std::vector<MetricValue> means() const {
    std::vector<MetricValue> values;
    const auto count = static_cast<double>(std::max<std::int64_t>(samples_, 1));
    for (std::size_t i = 0; i < names_.size(); ++i) values.push_back({names_[i], sums_[i] / count});
    return values;
  }

 private:
  std::vector<std::string> names_;
  std::vector<ChosenMetric> chosen_;
  std::vector<double> sums_;
  std::int64_t samples_ = 0;
};

// Every evaluation has these two.
std::vector<std::string> measured(const std::vector<std::string>& also) {
  std::vector<std::string> names{"loss", "accuracy"};
  names.insert(names.end(), also.begin(), also.end());
  return names;
}

}  // namespace

Evaluation Trainer::evaluate(const std::shared_ptr<DataSource>& source, std::int64_t batch) {
  Implementation& self = *implementation_;
  const ThreadScope threads(self.options.threads > 0 ? self.options.threads : thread_count());
  if (source && source->size() > 0 && batch > 0) {
    const std::lock_guard alone(self.model->in_use);
    Implementation::prepare(self.evaluation_program(), *source, std::min(batch, source->size()),
                            source->size());
  }
  BatchLoader loader(source, {.batch = batch, .shuffle = false, .keep_last = true, .epochs = 1});
  Evaluation evaluation;
  Measuring measuring(measured(self.options.metrics));
  while (const std::optional<Batch> next = loader.next()) {
    const std::vector<Tensor> results =
        self.model->run([&] { return self.known_evaluation(); },
                        [&]() -> Program& { return self.evaluation_program(); }, next->tensors);
    measuring.add({.prediction = results.at(0),
                   .target = next->tensors.back(),
                   .loss = results.at(1).at(0),
                   .samples = next->tensors.at(0).dims().at(0)});
    evaluation.not_finite += count_not_finite(results.at(0));
  }
  evaluation.samples = measuring.samples();
  evaluation.metrics = measuring.means();
  evaluation.loss = evaluation.metrics[0].value;
  evaluation.accuracy = evaluation.metrics[1].value;
  evaluation.metrics.erase(evaluation.metrics.begin(), evaluation.metrics.begin() + 2);
  return evaluation;
}

const PrecisionPlan& Trainer::plan() const { return implementation_->plan; }
Graph Trainer::graph() const { return implementation_->training_graph; }

std::int64_t Trainer::applied_steps() const {
  const std::shared_lock reading(implementation_->model->in_use);
  implementation_->require_latest();
  return static_cast<std::int64_t>(implementation_->model->store.at(applied_steps_name).at(0));
}

std::int64_t Trainer::skipped_steps() const {
  return static_cast<std::int64_t>(implementation_->steps) - applied_steps();
}

std::int64_t Trainer::activation_bytes() const {
  const Executor* executor = implementation_->executor();
  return executor ? executor->plan().value_bytes : 0;
}

RecomputeReport Trainer::recomputed() const {
  const Executor* executor = implementation_->executor();
  if (!executor) return {};
  const Recomputation& again = executor->plan().recomputation;
  return {again.nodes, again.saved_bytes, again.operations};
}

FlushReport Trainer::flushed() const {
  FlushReport report;
  const Executor* executor = implementation_->executor();
  if (!executor) return report;
  report.elements = executor->gradient_elements();
  for (const FlushedValue& value : executor->flushed()) {
    if (report.first.empty()) {
      report.first = value.value;
      report.first_flushed = value.flushed;
      report.first_elements = value.elements;
    }
    report.flushed += value.flushed;
  }
  return report;
}

void Trainer::enable_profile() { implementation_->profile = true; }

std::vector<Trainer::KernelChoice> Trainer::kernels() const {
  std::vector<KernelChoice> choices;
  if (const Executor* executor = implementation_->executor())
    for (StepProfile& row : executor->profile())
      choices.push_back({std::move(row.node), std::move(row.op), std::move(row.implementation),
                         row.facts, row.phase, row.milliseconds, row.math, row.flops, row.bytes});
  return choices;
}

}  // namespace narrowgauge
