// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "api/programs/kernel_profile.h"
#include "api/training/clone.h"
#include "api/training/trainer_implementation.h"
#include "api/training/training_batch.h"
#include "api/training/training_setup.h"
#include "base/machine/floating_environment.h"
#include "base/threads/parallel.h"
#include "ops/loss/negative_log_likelihood.h"
#include "ops/loss/softmax_cross_entropy.h"
#include "passes/fusion/read_moments.h"
#include "precision/plans/parameters.h"
#include "precision/subnormals.h"
#include "train/metrics/metric.h"
#include "train/parameter_settings.h"
#include "train/training_graph.h"

namespace narrowgauge {

Trainer::Trainer(Model& model, Loss loss, Optimizer optimizer, TrainerOptions options)
    : implementation_(std::make_shared<Implementation>()) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  self.set_up(model, std::move(loss), std::move(optimizer), std::move(options));
  const std::lock_guard alone(self.model->in_use);
  self.take_over(nullptr);
}

void Trainer::Implementation::set_up(const Model& given, Loss of_batches, Optimizer rule,
                                     TrainerOptions how) {
  require(how.threads >= 0 && how.threads <= 4096, "trainer: expected threads from 0 to 4096, got ",
          how.threads);
  const MetricSet refuses_unknown(how.metrics, how.own_metrics);
  model = ModelAccess::shared(given);
  loss = std::move(of_batches);
  TrainingSetup setup =
      set_up_training(model->name, model->build, loss, std::move(rule), std::move(how));
  optimizer = std::move(setup.optimizer);
  options = std::move(setup.options);
  training_graph = std::move(setup.graph);
  plan = std::move(setup.plan);
  CompileOptions compile_options;
  compile_options.deterministic = options.deterministic;
  compile_options.trace = options.trace;
  compile_options.subnormals = subnormals_of(plan.f32_math);
  compile_options.kernels = &kernels;
  training = std::make_unique<Program>(std::move(setup.computed), compile_options, model->store,
                                       options.seed, options.recompute);
  training->set_plan_memory(model->plan_memory);
  if (setup.update)
    update = std::make_unique<Program>(*std::move(setup.update), compile_options, model->store,
                                       options.seed);
  averages = Averages(training_graph, trainer_owner);
}

namespace {

HeldStates held_for_parts(const Graph& part, const StateStore& store) {
  std::set<std::string> sums;
  for (const State& state : part.states())
    if (state.role == Role::moment && is_of_parts(trainer_owner, state.name))
      sums.insert(state.name);
  return {part, store, std::move(sums)};
}

}  // namespace

// Removes the states of an earlier Trainer, which may have computed in another format.
void Trainer::Implementation::take_over(const StateStore* former) {
  StateStore store = model->store;
  store.remove({Role::moment, Role::control, Role::derived});
  store.unpin();
  const bool wide = optimizer.precision.in_f64;
  Model::Implementation::Precision precision = plan;
  if (wide) precision = optimizer.precision;
  if (wide != model->is_in_f64()) store.convert_weights(wide ? DType::f64 : DType::f32);
  store.keep_as(wide ? training->graph() : training_graph, kept_formats(plan), model->seed);
  for (const Program* const program : {training.get(), update.get()}) {
    if (!program) continue;
    store.add(program->graph(), model->seed);
    if (former) store.set(training_states(program->graph(), *former));
  }
  if (update) before_parts = held_for_parts(training->graph(), store);
  // Nothing fails from here on.
  model->store = std::move(store);
  model->adopt(std::move(precision));
  number = ++model->trainers;
  model->steps.clear();
}

Trainer::Trainer(std::shared_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

void Trainer::Implementation::require_latest() const {
  require(number == model->trainers, "model '", model->name,
          "': a newer Trainer has taken it over, this one can train it no more");
}

void Trainer::Implementation::require_weights() const {
  require_latest();
  require(!averages.are_swapped(), "model '", model->name,
          "': averages stand in the place of its weights, swap_averages() puts these back");
}

bool Trainer::Implementation::has_averages() const {
  return !averages.names().empty() && number == model->trainers &&
         model->store.at(applied_steps_name).at(0) > 0;
}

Program* Trainer::Implementation::known_evaluation() const {
  const bool is_latest =
      evaluation_precision == model->precisions && evaluates_averages == reads_averages();
  return is_latest ? evaluation.get() : nullptr;
}

namespace {

// Whether the loss of a graph takes scores [N, ..., classes] as rows [places, classes], as that of
// language models does.
bool loss_takes_rows(const Graph& graph) {
  for (const Node& node : graph.nodes())
    if (node.is<SoftmaxCrossEntropyLoss>())
      return graph.type(node.inputs[0]).shape.size() == 2 &&
             graph.type(graph.find_output("prediction")).shape.size() > 2;
  return false;
}

// What metrics see of scores [N, ..., classes] with labels [N, ...] for such a loss.
Tensor rows_of_scores(const Tensor& scores) {
  const std::int64_t classes = scores.dims().back();
  return scores.reshaped({scores.size() / std::max<std::int64_t>(classes, 1), classes});
}

}  // namespace

Program& Trainer::Implementation::evaluation_program() {
  if (!known_evaluation()) {
    CompileOptions compile_options;
    compile_options.deterministic = options.deterministic;
    compile_options.kernels = &kernels;
    Graph graph = loss_graph(model->name, model->build, loss, Mode::evaluate);
    const bool rows = loss_takes_rows(graph), averaged = reads_averages();
    if (averaged) graph = read_moments(graph, averages.names());
    evaluation = model->program(graph, std::move(compile_options), options.seed);
    // Nothing fails from here on.
    evaluation->set_plan_memory(model->plan_memory);
    evaluates_rows = rows;
    evaluates_averages = averaged;
    evaluation_precision = model->precisions;
  }
  return *evaluation;
}

void Trainer::Implementation::prepare(Program& program, const DataSource& source,
                                      std::int64_t batch, std::int64_t samples) {
  TensorTypes inputs = source.sample_types();
  for (TensorType& type : inputs) type.shape.insert(type.shape.begin(), Dim(batch));
  inputs = training_types(program.graph(), std::move(inputs));
  const Values& taken = program.graph().inputs();
  if (taken.size() == inputs.size() + 1)  // a part of a batch comes with its weight
    inputs.push_back(program.graph().type(taken.back()));
  program.prepare(inputs, samples);
}

namespace {

// The number of rows that hold a value that is not finite.
std::int64_t count_not_finite_rows(const Tensor& prediction) {
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

// The label that the loss of a graph leaves out.
std::optional<std::int64_t> ignored_label_of(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    std::int64_t ignored = no_ignored_label;
    if (node.is<SoftmaxCrossEntropyLoss>())
      ignored = node.as<SoftmaxCrossEntropyLoss>().ignore_index;
    else if (node.is<NegativeLogLikelihoodLoss>())
      ignored = node.as<NegativeLogLikelihoodLoss>().ignore_index;
    if (ignored != no_ignored_label) return ignored;
  }
  return std::nullopt;
}

}  // namespace

Evaluation Trainer::evaluate(const std::shared_ptr<DataSource>& source, std::int64_t batch) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  const ThreadScope threads(self.options.threads > 0 ? self.options.threads : thread_count());
  if (source && source->size() > 0 && batch > 0) {
    const std::lock_guard alone(self.model->in_use);
    Implementation::prepare(self.evaluation_program(), *source, std::min(batch, source->size()),
                            source->size());
  }
  BatchLoader loader(source, {.batch = batch, .shuffle = false, .keep_last = true, .epochs = 1});
  Evaluation evaluation;
  MetricSet metrics(measured_with(self.options.metrics), self.options.own_metrics);
  const std::optional<std::int64_t> ignored = ignored_label_of(self.training_graph);
  while (const std::optional<Batch> next = loader.next()) {
    const TrainingBatch taken("evaluate", self.training_graph, next->tensors);
    const std::span<const Tensor> tensors = taken.inputs();
    const std::vector<Tensor> results =
        self.model->run([&] { return self.known_evaluation(); },
                        [&]() -> Program& { return self.evaluation_program(); }, tensors);
    const std::int64_t samples = tensors.front().dims().at(0);
    const Tensor &scores = results.at(0), &labels = tensors.back();
    metrics.add({.prediction = self.evaluates_rows ? rows_of_scores(scores) : scores,
                 .target = self.evaluates_rows ? labels.reshaped({labels.size()}) : labels,
                 .loss = results.at(1).at(0),
                 .samples = samples,
                 .ignored = ignored,
                 .indices = next->samples});
    evaluation.samples += samples;
    evaluation.not_finite += count_not_finite_rows(results.at(0));
  }
  evaluation.metrics = metrics.values();
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

std::int64_t Trainer::state_bytes() const {
  const std::shared_lock reading(implementation_->model->in_use);
  std::int64_t bytes = 0;
  const StateStore& store = implementation_->model->store;
  for (const auto& [name, entry] : store.entries())
    if (entry.role != Role::control) bytes += entry.value.bytes();
  return bytes;
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

void Trainer::enable_profile(bool keeps_runs) {
  implementation_->profile = true;
  implementation_->keeps_runs = keeps_runs;
}

void Trainer::disable_profile() { implementation_->profile = false; }

std::vector<Trainer::KernelRun> Trainer::kernel_runs() const {
  return measured_runs(implementation_->executors());
}

void Trainer::keep_gradients(bool keeps) { implementation_->keeps_gradients = keeps; }

std::vector<NamedTensor> Trainer::gradients() const {
  const FloatingEnvironment environment(Subnormals::keep);
  const Implementation& self = *implementation_;
  const Executor* executor = self.checking().latest();
  if (!executor || executor->watched().empty()) return {};
  std::vector<NamedTensor> gradients;
  const std::vector<ParameterSettings> settings =
      settings_of_parameters(self.training_graph, self.optimizer);
  const double scale = executor->watched()[0].at(0);
  auto watched = executor->watched().begin() + 1;
  auto setting = settings.begin();
  for (const State& state : self.training_graph.states()) {
    if (state.role != Role::parameter || (setting++)->frozen) continue;
    Tensor gradient = (watched++)->cast(DType::f32);
    for (float& value : gradient.values<float>()) value /= static_cast<float>(scale);
    gradients.push_back({state.name, std::move(gradient)});
  }
  return gradients;
}

std::vector<Trainer::KernelChoice> Trainer::kernels() const {
  return measured_kernels(implementation_->executors());
}

}  // namespace narrowgauge
