// SPDX-License-Identifier: Apache-2.0
// The moving averages that a training keeps of the parameters of a model (Optimizer::ema_decay).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "runtime/state_store.h"

namespace narrowgauge {

class Averages {
 public:
  Averages() = default;
  // The averages among the states of a training graph that belong to this owner.
  Averages(const Graph& training, std::string_view owner);

  // The moment with the average, by the name of the parameter.
  const std::map<std::string, std::string>& names() const { return names_; }
  bool has(std::string_view moment) const;
  bool are_swapped() const { return !set_aside_.empty(); }
  // Puts the averages in the place of the parameters, or these back. Where a parameter is kept in a
  // narrow format, its average is rounded to it.
  void swap(StateStore& store);

 private:
  std::map<std::string, std::string> names_;
  std::map<std::string, Tensor> set_aside_;  // parameters, by name
};

}  // namespace narrowgauge
