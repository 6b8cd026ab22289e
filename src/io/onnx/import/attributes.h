// SPDX-License-Identifier: Apache-2.0
// Attributes of an ONNX node as those of an op.
#pragma once

#include "io/onnx/model.h"
#include "narrowgauge/op.h"

namespace narrowgauge::onnx {

// By name; what the node leaves out keeps the op's default. ModelError for an attribute that the op
// does not have, or of another type.
Attributes attributes_of(const OpRecord& op, const Node& node);

}  // namespace narrowgauge::onnx
