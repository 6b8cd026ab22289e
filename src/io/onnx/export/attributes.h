// SPDX-License-Identifier: Apache-2.0
// The attributes of an op as those of a node in a file, the inverse of import/attributes.h.
#pragma once

#include <vector>

#include "io/onnx/model.h"
#include "narrowgauge/op_record.h"

namespace narrowgauge::onnx {

// The attributes that differ from ONNX's defaults, and those that ONNX demands; all of an op of the
// program; without regions. Throws ModelError for what an attribute of ONNX cannot hold.
std::vector<Attribute> attributes_of(const OpRecord& op, const Attributes& attributes);

Attribute attribute_of(std::string_view name, AttributeValue value);

}  // namespace narrowgauge::onnx
