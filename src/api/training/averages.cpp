// SPDX-License-Identifier: Apache-2.0
#include "api/training/averages.h"

#include <algorithm>

#include "train/training_graph.h"

namespace narrowgauge {

Averages::Averages(const Graph& training, std::string_view owner) {
  for (const State& state : training.states()) {
    if (state.role != Role::parameter) continue;
    const std::string moment = moment_name(owner, state.name, average_name);
    if (training.find_state(moment)) names_[state.name] = moment;
  }
}

bool Averages::has(std::string_view moment) const {
  return std::ranges::any_of(names_, [&](const auto& each) { return each.second == moment; });
}

void Averages::swap(StateStore& store) {
  std::vector<StateStore::NewValue> values;
  decltype(set_aside_) aside;
  if (are_swapped()) {
    for (const auto& [parameter, value] : set_aside_) values.push_back({parameter, value});
  } else {
    for (const auto& [parameter, moment] : names_) {
      values.push_back({parameter, store.at(moment)});
      aside[parameter] = store.at(parameter).clone();
    }
  }
  store.set(values);
  set_aside_.swap(aside);
}

}  // namespace narrowgauge
