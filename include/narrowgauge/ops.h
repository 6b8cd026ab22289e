// SPDX-License-Identifier: Apache-2.0
// The ops that graphs consist of, found by name: built-in ones and those of the program.
#pragma once

#include <string_view>

#include "narrowgauge/graph.h"

namespace narrowgauge {

// All built-in ops, the graph's own ops, and those that the program registered.
NG_API const OpTable& op_table();
// Makes an op of the program known to texts of graphs and to files of ONNX, before any is read;
// throws UsageError if its name is taken.
NG_API void register_op(const OpRecord& op);

// Reads the text form of a graph, whose ops are those of op_table(); undoes print(). Throws
// ModelError naming line and column.
NG_API Graph parse(std::string_view text);

}  // namespace narrowgauge
