// SPDX-License-Identifier: Apache-2.0
// What layers of a Network look at is theirs.
#pragma once

#include <string>
#include <string_view>

#include "narrowgauge/network.h"

namespace narrowgauge {

// Throws UsageError naming the layer, "linear 'head'", unless the value is one of the network's.
inline void require_input(Network& network, Value x, std::string_view layer,
                          std::string_view name = "") {
  network.graph().require_own(x, name.empty() ? concat(layer) : concat(layer, " '", name, '\''));
}

// Throws UsageError naming the layer unless a number of its is from `least` on, and no larger than
// sizes that are made of it can be.
inline void require_count(std::string_view layer, std::string_view what, std::int64_t number,
                          std::int64_t least = 1) {
  constexpr std::int64_t most = 0x7fffffff;
  require(number >= least && number <= most, layer, ": expected ", what, " from ", least, " to ",
          most, ", got ", number);
}

// Throws UsageError for a function that holds nothing, which would be called.
template <class Function>
void require_function(const Function& function, std::string_view layer, std::string_view what) {
  require(static_cast<bool>(function), layer, ": expected a function as ", what,
          ", got an empty one");
}

}  // namespace narrowgauge
