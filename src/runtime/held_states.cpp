// SPDX-License-Identifier: Apache-2.0
#include "runtime/held_states.h"

#include <algorithm>
#include <cstring>

namespace narrowgauge {

HeldStates::HeldStates(const Graph& graph, const StateStore& store, std::set<std::string> sums)
    : sums_(std::move(sums)), all_(sums_) {
  for (const State& state : graph.states()) {
    if (state.next == state.current || !all_.insert(state.name).second) continue;
    const Tensor& value = store.at(state.name);
    held_.emplace_back(state.name, Tensor(value.dtype(), value.dims()));
  }
}

void HeldStates::hold(const StateStore& store) {
  for (auto& [name, value] : held_) std::copy_n(store.at(name).data(), value.bytes(), value.data());
}

void HeldStates::put_back(StateStore& store) const {
  for (const auto& [name, value] : held_)
    std::copy_n(value.data(), value.bytes(), store.at(name).data());
  for (const std::string& name : sums_) {
    Tensor& sum = store.at(name);
    std::memset(sum.data(), 0, static_cast<std::size_t>(sum.bytes()));
  }
  store.touch(all_, {});
}

}  // namespace narrowgauge
