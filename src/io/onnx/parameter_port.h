// SPDX-License-Identifier: Apache-2.0
// Which initializers of a model file are parameters.
#pragma once

#include "narrowgauge/op_record.h"

namespace narrowgauge::onnx {

// Whether an f32 initializer that is read at this port is a parameter: its gradient flows, or would
// flow straight through a quantisation. Steps are what a calibration found: passes read them.
inline bool takes_parameters(const OpRecord& op, int port) {
  if (op.info.name == "DequantizeLinear") return false;
  return op.input_port(port).differentiable || (op.info.name == "QuantizeLinear" && port == 0);
}

}  // namespace narrowgauge::onnx
