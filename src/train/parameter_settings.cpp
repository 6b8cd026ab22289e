// SPDX-License-Identifier: Apache-2.0
#include "train/parameter_settings.h"

#include <algorithm>

#include "base/text/wildcard.h"

namespace narrowgauge {

namespace {

std::vector<const State*> parameters_of(const Graph& graph) {
  std::vector<const State*> parameters;
  for (const State& state : graph.states())
    if (state.role == Role::parameter) parameters.push_back(&state);
  return parameters;
}

void require_members(const ParameterGroup& group, const std::vector<const State*>& parameters) {
  for (const State* parameter : parameters)
    if (matches_wildcard(group.pattern, parameter->name)) return;
  throw UsageError(concat("optimizer: none of ", parameters.size(), " parameters is called '",
                          group.pattern, "': the first is '", parameters.front()->name,
                          "', the last '", parameters.back()->name, '\''));
}

bool has_weight_decay(const UpdateRule& rule) {
  return std::ranges::any_of(rule.hyperparameters(), [](const Hyperparameter& each) {
    return each.name == "weight_decay";
  });
}

ParameterSettings settings_of(const State& parameter, const Optimizer& optimizer) {
  ParameterSettings settings;
  settings.rule = optimizer.rule;
  const bool is_vector = parameter.type.shape.size() <= 1;
  if (is_vector && !optimizer.decays_vectors && has_weight_decay(settings.rule))
    settings.rule.set("weight_decay", 0.0);
  for (const ParameterGroup& group : optimizer.groups) {
    if (!matches_wildcard(group.pattern, parameter.name)) continue;
    settings.rate = group.rate;
    settings.frozen = group.frozen;
    if (group.weight_decay) settings.rule.set("weight_decay", *group.weight_decay);
  }
  return settings;
}

}  // namespace

std::vector<ParameterSettings> settings_of_parameters(const Graph& graph,
                                                      const Optimizer& optimizer) {
  const std::vector<const State*> parameters = parameters_of(graph);
  require(!parameters.empty(), "graph '", graph.name(), "': has no parameters to train");
  for (const ParameterGroup& group : optimizer.groups) require_members(group, parameters);
  std::vector<ParameterSettings> all;
  for (const State* parameter : parameters) all.push_back(settings_of(*parameter, optimizer));
  const bool trains =
      std::ranges::any_of(all, [](const ParameterSettings& each) { return !each.frozen; });
  require(trains, "optimizer: all ", all.size(), " parameters are frozen, none is left to train");
  return all;
}

}  // namespace narrowgauge
