// SPDX-License-Identifier: Apache-2.0
// The error text for the name of an unknown op.
#pragma once

#include <string>
#include <string_view>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// "unknown op 'Rleu'; did you mean Relu? `narrowgauge info --ops` lists them".
std::string unknown_op_text(std::string_view name, const OpTable& ops);

}  // namespace narrowgauge
