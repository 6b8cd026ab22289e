// SPDX-License-Identifier: Apache-2.0
#include "api/program.h"

#include <algorithm>
#include <utility>

#include "api/memory_check.h"
#include "base/parallel.h"

namespace narrowgauge {

Program::Program(Graph graph, CompileOptions options, StateStore& store, std::uint64_t seed)
    : graph_(std::move(graph)), options_(std::move(options)), store_(store), seed_(seed) {}

Binding Program::binding_for(std::span<const Tensor> inputs) const {
  require(inputs.size() == graph_.inputs().size(), "graph '", graph_.name(), "': takes ",
          graph_.inputs().size(), " inputs, got ", inputs.size());
  Binding binding;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value value = graph_.inputs()[i];
    const TensorType& type = graph_.type(value);
    const Dims& dims = inputs[i].dims();
    require(dims.size() == type.shape.size() && inputs[i].dtype() == type.dtype, "input '",
            graph_.value_name(value), "': expected ", type, ", got ", inputs[i].type());
    for (std::size_t axis = 0; axis < dims.size(); ++axis)
      if (!type.shape[axis].is_known()) binding.try_emplace(type.shape[axis].text(), dims[axis]);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = graph_.type(graph_.inputs()[i]);
    require(known_dims(narrowgauge::bind(type.shape, binding)) == inputs[i].dims(), "input '",
            graph_.value_name(graph_.inputs()[i]), "': expected ", type, ", got ",
            inputs[i].type());
  }
  return binding;
}

Executor& Program::executor_for(std::span<const Tensor> inputs) {
  const Binding binding = binding_for(inputs);
  const int threads = thread_count();
  const auto known = std::find_if(executors_.begin(), executors_.end(), [&](const Entry& entry) {
    return entry.threads == threads && entry.binding == binding;
  });
  if (known != executors_.end()) {
    executors_.splice(executors_.begin(), executors_, known);
    return *known->executor;
  }
  CompileOptions options = options_;
  options.binding = binding;
  Plan plan = compile(graph_, options);
  const auto batch = binding.find("N");
  require_memory(plan, store_, batch == binding.end() ? 0 : batch->second, [&](std::int64_t size) {
    CompileOptions other = options;
    other.binding["N"] = size;
    return compile(graph_, other);
  });
  auto executor = std::make_unique<Executor>(std::move(plan), store_, seed_);
  executors_.push_front({binding, threads, std::move(executor)});
  if (executors_.size() > most_executors) executors_.pop_back();
  return *executors_.front().executor;
}

Executor* Program::latest() {
  return executors_.empty() ? nullptr : executors_.front().executor.get();
}

}  // namespace narrowgauge
