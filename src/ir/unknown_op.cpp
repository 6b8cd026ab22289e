// SPDX-License-Identifier: Apache-2.0
#include "ir/unknown_op.h"

#include <vector>

#include "base/text/nearest.h"

namespace narrowgauge {

std::string unknown_op_text(std::string_view name, const OpTable& ops) {
  std::vector<std::string> names;
  for (const OpRecord* op : ops.all()) names.push_back(op->full_name());
  const std::string guess = suggestion(name, names);
  return concat("unknown op '", name, "'", guess, guess.empty() ? ";" : "",
                " `narrowgauge info --ops` lists them");
}

}  // namespace narrowgauge
