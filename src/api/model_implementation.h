// SPDX-License-Identifier: Apache-2.0
// What a Model holds, shared with its Trainer.
#pragma once

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
  std::optional<MixedPrecision> precision;
  std::unique_ptr<Program> prediction;  // made on first use, again after set_precision

  Graph graph(Mode mode) const;
  Program& prediction_program();
};

// Takes parameters and statistics from a safetensors file, all or none; throws DataError.
void load_weights(Model::Implementation& model, const std::string& path);

// The graph under mixed precision, where that was asked for.
Graph with_precision(const Graph& graph, const std::optional<MixedPrecision>& precision);

}  // namespace narrowgauge
