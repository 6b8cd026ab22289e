// SPDX-License-Identifier: Apache-2.0
// A Trainer's step: of a batch at once, or of its parts one after the other.
#include <cstring>

#include "api/training/step_outputs.h"
#include "api/training/trainer_implementation.h"
#include "api/training/training_batch.h"
#include "base/machine/floating_environment.h"
#include "base/threads/parallel.h"
#include "train/training_graph.h"

namespace narrowgauge {

namespace {

// One of so many equal parts along the first axis.
Tensor part_of(const Tensor& tensor, std::int64_t part, std::int64_t parts) {
  Dims dims = tensor.dims();
  dims[0] /= parts;
  Tensor result(tensor.dtype(), std::move(dims));
  const std::int64_t bytes = result.bytes();
  std::memcpy(result.data(), tensor.data() + part * bytes, static_cast<std::size_t>(bytes));
  return result;
}

}  // namespace

void Trainer::Implementation::compute(Program& program, std::span<const Tensor> inputs,
                                      std::uint64_t number_of_run,
                                      FunctionRef<void(std::span<const Tensor> results)> use) {
  const Program::Lease executor = program.executor_for(inputs);
  executor->enable_profile(profile, keeps_runs);
  const bool checks = &program == &checking();
  executor->watch(keeps_gradients && checks ? gradient_check_name : "");
  use(executor->run_inside(inputs, number_of_run));
}

std::int64_t Trainer::Implementation::parts_of(std::span<const Tensor> batch) const {
  const std::int64_t parts = options.accumulation;
  if (!update) return 1;
  for (const Tensor& tensor : batch)
    require(!tensor.dims().empty() && tensor.dims()[0] % parts == 0 && bits(tensor.dtype()) >= 8,
            "step: expected a batch that can be cut into ", parts, " equal parts, got ",
            tensor.type());
  return parts;
}

std::vector<Tensor> Trainer::Implementation::inputs_for(std::span<const Tensor> batch,
                                                        std::int64_t part) const {
  if (!update) return {batch.begin(), batch.end()};
  const std::int64_t parts = options.accumulation;
  std::vector<Tensor> inputs;
  for (const Tensor& tensor : batch) inputs.push_back(part_of(tensor, part, parts));
  const Graph& graph = training->graph();
  const DType dtype = graph.type(graph.inputs().back()).dtype;
  inputs.push_back(Tensor::scalar(dtype, 1 / static_cast<double>(parts)));
  return inputs;
}

std::uint64_t Trainer::Implementation::run_number(std::uint64_t step, std::int64_t part) const {
  return step * static_cast<std::uint64_t>(options.accumulation) + static_cast<std::uint64_t>(part);
}

double Trainer::Implementation::accumulate(std::span<const Tensor> batch) {
  const std::int64_t parts = parts_of(batch);
  double sum = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::vector<Tensor> inputs = inputs_for(batch, part);
    compute(*training, inputs, run_number(steps, part), [&](std::span<const Tensor> results) {
      sum += output_of(training->graph(), results, "loss");
    });
  }
  return sum / static_cast<double>(parts);
}

// Runs the step once more, at the loss scale that it had.
std::string Trainer::Implementation::first_not_finite(const StepResult& result,
                                                      std::span<const Tensor> given) {
  const TrainingBatch taken("step", training_graph, given);
  const std::span<const Tensor> batch = taken.inputs();
  const ThreadScope threads(options.threads > 0 ? options.threads : thread_count());
  const std::lock_guard alone(model->in_use);
  StateStore& store = model->store;
  const KeptState scale(store, loss_scale_name);
  store.set(loss_scale_name, Tensor::scalar(scale.value().dtype(), result.scale));
  std::optional<NotFiniteValue> found;
  for (std::int64_t part = 0; !found && part < parts_of(batch); ++part) {
    const std::vector<Tensor> inputs = inputs_for(batch, part);
    const Program::Lease executor = training->executor_for(inputs);
    found = executor->find_not_finite(inputs, run_number(steps - 1, part));
  }
  if (!found) return "";
  return concat("; the first value that is not finite is '", found->name, "' (", found->dtype, ')');
}

std::vector<const Executor*> Trainer::Implementation::executors() const {
  std::vector<const Executor*> executors;
  for (Program* const program : {training.get(), update.get()})
    if (const Executor* const executor = program ? program->latest() : nullptr)
      executors.push_back(executor);
  return executors;
}

StepResult Trainer::Implementation::step_in_parts(std::span<const Tensor> batch) {
  StepResult result;
  before_parts.hold(model->store);
  try {
    const double sum = accumulate(batch);
    compute(*update, {}, steps, [&](std::span<const Tensor> results) {
      result = step_result_of(update->graph(), results);
      result.loss = sum;
    });
  } catch (...) {
    before_parts.put_back(model->store);
    throw;
  }
  return result;
}

StepResult Trainer::step(std::span<const Tensor> given) {
  const FloatingEnvironment environment(Subnormals::keep);
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_weights();
  const TrainingBatch taken("step", self.training_graph, given);
  const std::span<const Tensor> batch = taken.inputs();
  const ThreadScope threads(self.options.threads > 0 ? self.options.threads : thread_count());
  StepResult result;
  if (self.update) {
    result = self.step_in_parts(batch);
  } else {
    self.compute(*self.training, batch, self.steps, [&](std::span<const Tensor> results) {
      result = step_result_of(self.training->graph(), results);
      result.loss = output_of(self.training->graph(), results, "loss");
    });
  }
  ++self.steps;
  return result;
}

void Trainer::swap_averages() {
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_latest();
  require(self.has_averages(), "model '", self.model->name,
          "': has no averages; they need an ema_decay and a step that was applied");
  self.averages.swap(self.model->store);
}

}  // namespace narrowgauge
