// SPDX-License-Identifier: Apache-2.0
// What an Engine holds.
#pragma once

#include "narrowgauge/engine.h"

namespace narrowgauge {

struct Engine::Implementation {
  Model model;  // without states: its weights are constants of its graph
  ConversionReport report{};
};

// The way to the inside of an Engine, for the parts of the library that share it.
struct EngineAccess {
  static Model& model_of(const Engine& engine) { return engine.implementation_->model; }
};

}  // namespace narrowgauge
