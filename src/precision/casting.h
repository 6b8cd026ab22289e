// SPDX-License-Identifier: Apache-2.0
// Provides a graph's values in other formats, with one Cast for each value and format.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// Whether every value of the first format is a value of the second.
bool widens_exactly(DType from, DType to);
// "conv1.to_f16", "bn1.1.to_f16" for output 1, "conv1.1.to_f16" for conv1#1.
std::string cast_name(const Graph& graph, Value value, DType to);

class Casting {
 public:
  // Adds casts to `graph`; names of nodes in `reserved` are not used.
  Casting(Graph& graph, const Graph& reserved) : graph_(graph), reserved_(reserved) {}
  Value as(Value value, DType dtype);

 private:
  Value convert(Value value, DType dtype);

  Graph& graph_;
  const Graph& reserved_;
  std::map<std::pair<Value, DType>, Value> made_;
};

}  // namespace narrowgauge
