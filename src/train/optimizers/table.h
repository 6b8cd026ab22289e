// SPDX-License-Identifier: Apache-2.0
// Optimizers by name. Each is a stem in this folder that the build finds by its mark; its update
// rule is an op.
#pragma once

#include <string_view>

#include "base/stem_table.h"
#include "narrowgauge/optimizer.h"

namespace narrowgauge {

struct NamedOptimizer {
  std::string_view name, help;
  Optimizer (*make)();  // with its usual numbers
};

std::vector<const NamedOptimizer*> optimizers();

}  // namespace narrowgauge

// NG_OPTIMIZER(stem, name, help, make) enters an optimizer.
#define NG_OPTIMIZER(stem, ...) NG_STEM(optimizer_table, NamedOptimizer, stem, __VA_ARGS__)
