// SPDX-License-Identifier: Apache-2.0
// What a Model holds, shared with its Trainer.
#pragma once

#include <variant>

#include "api/program.h"
#include "narrowgauge/model.h"
#include "precision/apply.h"
#include "precision/lists.h"

namespace narrowgauge {

struct Model::Implementation {
  std::string name;
  BuildNetwork build;
  std::uint64_t seed = 1;
  StateStore store;
  // How evaluation computes: in f32, as set_precision() asked, or as the latest Trainer trains.
  std::variant<std::monostate, MixedPrecision, PrecisionPlan> precision;
  int precisions = 0;                   // set so far
  int trainers = 0;                     // made so far
  std::unique_ptr<Program> prediction;  // made on first use, again for another precision

  void set_precision(decltype(precision) wanted);
  Graph graph(Mode mode) const;
  Graph with_precision(const Graph& evaluation_graph) const;
  Program& prediction_program();
};

// Takes parameters and statistics from a safetensors file, all or none; throws DataError.
void load_weights(Model::Implementation& model, const std::string& path);

}  // namespace narrowgauge
