// SPDX-License-Identifier: Apache-2.0
// What an Engine holds.
#pragma once

#include "narrowgauge/engine.h"

namespace narrowgauge {

struct Engine::Implementation {
  Model model;  // without states: its weights are constants of its graph
  ConversionReport report{};
};

}  // namespace narrowgauge
