// SPDX-License-Identifier: Apache-2.0
// Normalizations of one example at a time, besides that over the last axis.
#include <cmath>
#include <limits>

#include "models/layer_input.h"
#include "narrowgauge/network.h"
#include "ops/normalization/group_normalization.h"
#include "ops/normalization/rms_normalization.h"

namespace narrowgauge {

namespace {

void check_epsilon(const char* layer, double epsilon) {
  require(epsilon >= double{std::numeric_limits<float>::min()} && std::isfinite(epsilon), layer,
          ": expected a finite epsilon of 1.2e-38 or more, got ", epsilon);
}

}  // namespace

Value Network::group_norm(Value x, std::int64_t groups, std::string given, double epsilon) {
  check_epsilon("group_norm", epsilon);
  require_input(*this, x, "group_norm", given);
  require(shape(x).size() >= 3 && shape(x)[1].is_known(),
          "group_norm: expected [N,C,...] of rank 3 or more with known channels, got ",
          graph_.type(x));
  const std::string name = layer_name(given, "groupnorm");
  const std::int64_t channels = shape(x)[1].value();
  const Value scale = parameter(name + ".weight", {channels}, Initial::constant(1));
  const Value bias = parameter(name + ".bias", {channels}, Initial::constant(0));
  GroupNormalization op;
  op.epsilon = epsilon;
  op.num_groups = groups;
  return graph_.add(op, {x, scale, bias}, {.name = name});
}

Value Network::rms_norm(Value x, std::string given, double epsilon) {
  check_epsilon("rms_norm", epsilon);
  require_input(*this, x, "rms_norm", given);
  require(!shape(x).empty() && shape(x).back().is_known(),
          "rms_norm: expected at least one axis of known size, got ", graph_.type(x));
  const std::string name = layer_name(given, "rmsnorm");
  const Value scale = parameter(name + ".weight", {shape(x).back().value()}, Initial::constant(1));
  RMSNormalization op;
  op.epsilon = epsilon;
  return graph_.add(op, {x, scale}, {.name = name});
}

}  // namespace narrowgauge
