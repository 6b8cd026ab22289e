// SPDX-License-Identifier: Apache-2.0
// A flag for each hyperparameter that some optimizer has: --momentum, --weight-decay, --nesterov;
// and --no-nesterov, since that switch is on in one of them.
#pragma once

#include <map>
#include <string>

#include "narrowgauge/update_rule.h"

namespace CLI {
class App;
}  // namespace CLI

namespace narrowgauge::cli {

using HyperparameterFlags = std::map<std::string, Hyperparameter::Value>;  // those given, by name

void add_hyperparameter_flags(CLI::App& app, HyperparameterFlags& target);

// Sets what was given. Throws UsageError naming the flag if the rule of this optimizer has no such
// hyperparameter or cannot have the value.
void take_hyperparameters(UpdateRule& rule, const std::string& optimizer,
                          const HyperparameterFlags& flags);

}  // namespace narrowgauge::cli
