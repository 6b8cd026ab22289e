// SPDX-License-Identifier: Apache-2.0
// Where the time of a network's predictions goes, kernel by kernel:
//
//   const Engine engine = Engine::open("resnet50_int8.onnx");
//   const AnswerProfile profile = profile_answers(engine, inputs, 20);
//   std::ofstream("trace.json") << chrome_trace(profile.kernels, profile.runs, "answer");
//   for (const ProfileRow& row : profile_rows(profile.kernels, profile.answers))
//     std::cout << row.op << ' ' << row.kernel << ' ' << row.milliseconds << " ms a prediction\n";
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "narrowgauge/engine.h"
#include "narrowgauge/export.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

// Times of the kernels of a network while it predicted, in milliseconds, for chrome_trace() and
// profile_rows() of trace.h.
struct NG_API AnswerProfile {
  // The predictions that were timed. A large batch may be predicted in parts, each of which is then
  // one.
  std::int64_t answers = 0;
  std::vector<Trainer::KernelChoice> kernels;  // in the order of the plan; times of all predictions
  std::vector<Trainer::KernelRun> runs;        // in the order of time
};

// Times so many predictions, at least 1, for inputs by name as Model::run() takes them. Two
// predictions before these are not timed: they compile, pack weights and fill caches. Other threads
// that use the network wait meanwhile. Throws as Model::run() does, and ModelError for a network
// that is computed node by node, which has no kernels.
NG_API AnswerProfile profile_answers(Model& model, std::span<const NamedTensor> inputs,
                                     std::int64_t answers = 10);
// Times the predictions of an engine, as those of a model.
NG_API AnswerProfile profile_answers(const Engine& engine, std::span<const NamedTensor> inputs,
                                     std::int64_t answers = 10);

}  // namespace narrowgauge
