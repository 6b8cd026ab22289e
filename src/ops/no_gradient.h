// SPDX-License-Identifier: Apache-2.0
// Ops through which no gradient can flow, each with the reason: NG_NO_GRADIENT names those of a
// source file, and the build collects these files.
#pragma once

#include <string_view>
#include <tuple>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

struct NoGradient {
  const OpRecord* op;
  std::string_view reason;  // a short phrase: "logical"
};

std::vector<NoGradient> ops_without_gradient();

// The reason; "" for an op through which gradients flow.
std::string_view why_no_gradient(const OpRecord& op);

}  // namespace narrowgauge

// NG_NO_GRADIENT(stem, reason, Op, ...) must stand once per file, at its end, at the start of a
// line.
#define NG_NO_GRADIENT(stem, reason, ...)                                     \
  namespace narrowgauge::no_gradient_table_parts {                            \
  std::vector<NoGradient> stem();                                             \
  std::vector<NoGradient> stem() {                                            \
    return []<class... T>(std::tuple<T...>*) {                                \
      return std::vector<NoGradient>{NoGradient{&record_of<T>(), reason}...}; \
    }(static_cast<std::tuple<__VA_ARGS__>*>(nullptr));                        \
  }                                                                           \
  }
