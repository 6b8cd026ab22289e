// SPDX-License-Identifier: Apache-2.0
// Keeps states in a narrow format, without a master in f32.
#pragma once

#include <map>
#include <string>

#include "narrowgauge/graph.h"
#include "narrowgauge/weight_rounding.h"

namespace narrowgauge {

using StateFormats =
    std::map<std::string, DType, std::less<>>;  // f16 or bf16, by name of the state

// The f32 states that `formats` names get that format. Whoever read their Cast to it reads them,
// others a Cast of them to f32. An update rule with the ports `compensation` and `random_key` takes
// and makes the narrow weight; the result of any other op that makes its next value is rounded by
// ng.RoundWeight, where it has a port `applied`, else by a Cast. With Kahan's rounding
// "<weight>.compensation" is one more state. Names of states that the graph does not have are
// ignored.
Graph drop_masters(const Graph& graph, const StateFormats& formats, WeightRounding rounding);

}  // namespace narrowgauge
