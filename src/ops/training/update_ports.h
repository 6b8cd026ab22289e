// SPDX-License-Identifier: Apache-2.0
// Where an op that updates a weight has its ports.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

// Places of ports; -1: the op has none of this name.
struct UpdatePorts {
  explicit UpdatePorts(const OpRecord& op)
      : learning_rate(place(op.inputs, "learning_rate")),
        multiplier(place(op.inputs, "multiplier")),
        applied(place(op.inputs, "applied")),
        applied_steps(place(op.inputs, "applied_steps")),
        compensation(place(op.inputs, "compensation")),
        random_key(place(op.inputs, "random_key")),
        moments(learning_rate - first_moment),
        narrow_weight(place(op.outputs, "narrow_weight")),
        next_compensation(place(op.outputs, "next_compensation")) {}

  static constexpr int first_moment = 2, first_next_moment = 1;
  int learning_rate, multiplier, applied, applied_steps, compensation, random_key;
  int moments;  // their number
  int narrow_weight, next_compensation;

 private:
  static int place(const std::vector<Port>& ports, std::string_view name) {
    const auto found = std::ranges::find(ports, name, &Port::name);
    return found == ports.end() ? -1 : static_cast<int>(found - ports.begin());
  }
};

}  // namespace narrowgauge
