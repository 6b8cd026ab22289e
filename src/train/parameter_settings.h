// SPDX-License-Identifier: Apache-2.0
// What an optimizer's groups say of each parameter.
#pragma once

#include <vector>

#include "narrowgauge/optimizer.h"

namespace narrowgauge {

// How one parameter is updated.
struct ParameterSettings {
  double rate = 1;      // times the learning rate
  UpdateRule rule;      // with the parameter's weight decay
  bool frozen = false;  // it is not updated
};

// The settings of the graph's parameters, in the order of their states. Throws UsageError for a
// group that no parameter belongs to, and where all parameters are frozen.
std::vector<ParameterSettings> settings_of_parameters(const Graph& graph,
                                                      const Optimizer& optimizer);

}  // namespace narrowgauge
