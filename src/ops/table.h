// SPDX-License-Identifier: Apache-2.0
// The table of ops: NG_OPS names the ops of a source file, and the build collects these files.
#pragma once

#include <tuple>
#include <vector>

#include "narrowgauge/graph.h"
#include "narrowgauge/op.h"
#include "narrowgauge/ops.h"

namespace narrowgauge {

std::vector<const OpRecord*> built_in_ops();
// Whether the op, or the one of its name, is one of them or of the graph's own.
bool is_built_in(const OpRecord& op);

}  // namespace narrowgauge

// NG_OPS(stem, Op, ...) must stand once per file, at its end, at the start of a line.
#define NG_OPS(stem, ...)                                      \
  namespace narrowgauge::op_table_parts {                      \
  std::vector<const OpRecord*> stem();                         \
  std::vector<const OpRecord*> stem() {                        \
    return []<class... T>(std::tuple<T...>*) {                 \
      return std::vector<const OpRecord*>{&record_of<T>()...}; \
    }(static_cast<std::tuple<__VA_ARGS__>*>(nullptr));         \
  }                                                            \
  }
