// SPDX-License-Identifier: Apache-2.0
// What a graph changes, kept aside while several runs of it make one step: a step that fails takes
// back what its first runs did, and needs no memory for that.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/state_store.h"

namespace narrowgauge {

class HeldStates {
 public:
  HeldStates() = default;
  // Holds all states that a graph changes, but those in `sums`, which are zeros before such a step.
  HeldStates(const Graph& graph, const StateStore& store, std::set<std::string> sums);

  void hold(const StateStore& store);      // as they are
  void put_back(StateStore& store) const;  // as they were then

 private:
  std::vector<std::pair<std::string, Tensor>> held_{};
  std::set<std::string> sums_{}, all_{};
};

// Puts a state back as it was, at the end of its own life.
class KeptState {
 public:
  KeptState(StateStore& store, std::string_view name)
      : state_(store.at(name)), value_(state_.clone()) {}
  ~KeptState() { std::copy_n(value_.data(), value_.bytes(), state_.data()); }
  KeptState(const KeptState&) = delete;
  KeptState& operator=(const KeptState&) = delete;
  const Tensor& value() const { return value_; }

 private:
  Tensor state_;  // shares the memory of the store
  Tensor value_;
};

}  // namespace narrowgauge
