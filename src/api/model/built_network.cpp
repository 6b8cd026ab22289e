// SPDX-License-Identifier: Apache-2.0
#include "api/model/built_network.h"

namespace narrowgauge {

Value built_prediction(Network& network, const BuildNetwork& build) {
  const std::string& name = network.graph().name();
  require(static_cast<bool>(build), "network '", name,
          "': expected a function that builds it, got an empty one");
  const Value prediction = build(network);
  if (!prediction.is_absent() || network.outputs().empty())
    network.graph().require_own(prediction,
                                concat("network '", name, "': its builder returns no prediction"));
  return prediction;
}

Value built_loss(Network& network, const Loss& loss, Value prediction) {
  require(static_cast<bool>(loss), "loss: expected a function, got an empty one");
  const Value value = loss(network, prediction);
  network.graph().require_own(value, "loss: its function returns none");
  return value;
}

Value built_objective(Network& network, const Objective& objective) {
  require(static_cast<bool>(objective), "step: expected a function as objective, got an empty one");
  const Value value = objective(network);
  network.graph().require_own(value, "step: its objective returns no loss");
  return value;
}

}  // namespace narrowgauge
