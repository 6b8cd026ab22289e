// SPDX-License-Identifier: Apache-2.0
// What to say of the name of an op that there is not.
#pragma once

#include <string>
#include <string_view>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// "unknown op 'Rleu'; did you mean Relu? `narrowgauge info --ops` lists them".
std::string unknown_op_text(std::string_view name, const OpTable& ops);

}  // namespace narrowgauge
