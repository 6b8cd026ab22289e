// SPDX-License-Identifier: Apache-2.0
// A Trainer's step: of a batch at once, or of its parts one after the other.
#include <algorithm>
#include <cstring>

#include "api/trainer_implementation.h"
#include "base/parallel.h"
#include "train/training_graph.h"

namespace narrowgauge {

namespace {

double output_of(const Program& program, const std::vector<Tensor>& results,
                 std::string_view name) {
  const std::vector<GraphOutput>& outputs = program.graph().outputs();
  const auto found = std::ranges::find(outputs, name, &GraphOutput::name);
  if (found == outputs.end())
    throw InternalError(concat("a training graph without the output '", name, "'"));
  return results[static_cast<std::size_t>(found - outputs.begin())].at(0);
}

StepResult read_result(const Program& program, const std::vector<Tensor>& results) {
  const auto value = [&](std::string_view name) { return output_of(program, results, name); };
  StepResult result;
  result.outcome = static_cast<StepOutcome>(static_cast<int>(value("reason")));
  result.scale = value("scale");
  result.norm = value("norm");
  result.learning_rate = value("learning_rate");
  return result;
}

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

std::vector<Tensor> Trainer::Implementation::compute(Program& program,
                                                     std::span<const Tensor> inputs,
                                                     std::uint64_t run_number) {
  const Program::Lease executor = program.executor_for(inputs);
  executor->enable_profile(profile, keeps_runs);
  const bool checks = &program == &checking();
  executor->watch(keeps_gradients && checks ? gradient_check_name : "");
  return executor->run(inputs, run_number);
}

double Trainer::Implementation::accumulate(std::span<const Tensor> batch) {
  const std::int64_t parts = options.accumulation;
  for (const Tensor& tensor : batch)
    require(!tensor.dims().empty() && tensor.dims()[0] % parts == 0 && bits(tensor.dtype()) >= 8,
            "step: expected a batch that can be cut into ", parts, " equal parts, got ",
            tensor.type());
  const Graph& graph = training->graph();
  const DType dtype = graph.type(graph.inputs().back()).dtype;
  double sum = 0;
  for (std::int64_t part = 0; part < parts; ++part) {
    std::vector<Tensor> inputs;
    for (const Tensor& tensor : batch) inputs.push_back(part_of(tensor, part, parts));
    inputs.push_back(Tensor::scalar(dtype, 1 / static_cast<double>(parts)));
    const auto run_number =
        steps * static_cast<std::uint64_t>(parts) + static_cast<std::uint64_t>(part);
    sum += output_of(*training, compute(*training, inputs, run_number), "loss");
  }
  return sum / static_cast<double>(parts);
}

std::vector<const Executor*> Trainer::Implementation::executors() const {
  std::vector<const Executor*> executors;
  for (Program* const program : {training.get(), update.get()})
    if (const Executor* const executor = program ? program->latest() : nullptr)
      executors.push_back(executor);
  return executors;
}

void Trainer::Implementation::drop_gradients() {
  for (const State& state : training->graph().states()) {
    if (state.role != Role::parameter) continue;
    const std::string name = moment_name(trainer_owner, state.name, gradient_sum_name);
    if (!model->store.has(name)) continue;  // of a frozen parameter
    Tensor& sum = model->store.at(name);
    std::memset(sum.data(), 0, static_cast<std::size_t>(sum.bytes()));
  }
  model->store.set(losses_finite_name, Tensor::scalar(DType::boolean, 1));
}

StepResult Trainer::step(std::span<const Tensor> batch) {
  Implementation& self = *implementation_;
  const std::lock_guard alone(self.model->in_use);
  self.require_weights();
  const ThreadScope threads(self.options.threads > 0 ? self.options.threads : thread_count());
  StepResult result;
  if (!self.update) {
    const std::vector<Tensor> results = self.compute(*self.training, batch, self.steps);
    result = read_result(*self.training, results);
    result.loss = output_of(*self.training, results, "loss");
  } else {
    try {
      const double loss = self.accumulate(batch);
      result = read_result(*self.update, self.compute(*self.update, {}, self.steps));
      result.loss = loss;
    } catch (...) {
      self.drop_gradients();
      throw;
    }
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
