// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/answer_profile.h"

#include <array>
#include <mutex>

#include "api/conversion/engine_implementation.h"
#include "api/model/model_implementation.h"
#include "api/programs/kernel_profile.h"

namespace narrowgauge {

namespace {

constexpr int settling_answers = 2;  // the first touches memory anew

// While it lives, the executor measures its runs; its memory of them ends with it.
class Profiling {
 public:
  explicit Profiling(Executor& executor) : executor_(executor) {
    executor_.clear_profile();
    executor_.enable_profile(true, /*keeps_runs=*/true);
  }
  Profiling(const Profiling&) = delete;
  ~Profiling() {
    executor_.enable_profile(false);
    executor_.clear_profile();
  }

 private:
  Executor& executor_;
};

}  // namespace

AnswerProfile profile_answers(Model& model, std::span<const NamedTensor> inputs,
                              std::int64_t answers) {
  require(answers >= 1, "profile_answers: expected at least 1 answer, got ", answers);
  Model::Implementation& self = ModelAccess::of(model);
  require_inputs(self.inputs, inputs);
  const std::lock_guard alone(self.in_use);
  const OpenShapes::Answering ready = self.answering(inputs);
  require<ModelError>(ready.executor != nullptr, "model '", self.name,
                      "': is computed node by node, as its shapes depend on values; there are no "
                      "kernels to time");
  Executor& executor = *ready.executor;
  for (int i = 0; i < settling_answers; ++i) executor.run(ready.inputs);
  if (self.cache) self.cache->save();
  const Profiling profiling(executor);
  for (std::int64_t i = 0; i < answers; ++i) executor.run(ready.inputs);
  const std::array<const Executor*, 1> measured{&executor};
  return {answers * executor.plan().parts, measured_kernels(measured), measured_runs(measured)};
}

AnswerProfile profile_answers(const Engine& engine, std::span<const NamedTensor> inputs,
                              std::int64_t answers) {
  return profile_answers(EngineAccess::model_of(engine), inputs, answers);
}

}  // namespace narrowgauge
