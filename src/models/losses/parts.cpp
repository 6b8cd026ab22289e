// SPDX-License-Identifier: Apache-2.0
#include "models/losses/parts.h"

#include <cmath>

#include "ops/reduce/reduce.h"

namespace narrowgauge {

Rewriting formulas(Network& network) { return {network.graph(), {}, {}}; }

Value labels_like(Network& network, Value prediction) {
  return network.input("labels", network.shape(prediction));
}

Value mean_of_all(Network& network, Value x) {
  return network.apply(ReduceMean{.keepdims = 0}, {x}, "loss");
}

void require_positive(const char* loss, const char* parameter, double number) {
  require(number > 0 && std::isfinite(number), loss, ": expected ", parameter, " above 0, got ",
          number);
}

}  // namespace narrowgauge
