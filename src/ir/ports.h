// SPDX-License-Identifier: Apache-2.0
// Rules of an op's ports: which dtypes a port takes, and the check of a whole call.
#pragma once

#include <string_view>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

bool is_type_variable(std::string_view type);  // "T", as against "f32" or "any"
// The class of a variable: "float", "wide" (f32 or f64), "integer", "number", "unsigned", "byte",
// "index", or "" if unconstrained. Storage-only dtypes belong to none of them.
std::string_view class_of_variable(const OpRecord& op, std::string_view variable);
bool port_accepts(const OpRecord& op, const Port& port, DType dtype);
// Checks number of inputs, pinned dtypes, classes, and one dtype per variable; throws UsageError.
void check_inputs(const OpRecord& op, const Inference& in);

}  // namespace narrowgauge
