// SPDX-License-Identifier: Apache-2.0
// Losses by name. Each is a stem in this folder that the build finds by its mark.
#pragma once

#include <string_view>
#include <vector>

#include "base/stem_table.h"
#include "models/losses/arguments.h"
#include "narrowgauge/losses.h"

namespace narrowgauge {

struct NamedLoss {
  std::string_view name, help;
  Loss (*make)(LossArguments& arguments);
};

std::vector<const NamedLoss*> losses();

}  // namespace narrowgauge

// NG_LOSS(stem, name, help, make) enters a loss.
#define NG_LOSS(stem, ...) NG_STEM(loss_table, NamedLoss, stem, __VA_ARGS__)
