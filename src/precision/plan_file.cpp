// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/files/open_file.h"
#include "narrowgauge/precision.h"
#include "precision/plan_reader.h"

namespace narrowgauge {

DType narrow_of_plan(const std::string& path) { return narrow_of_plan(read_text_file(path), path); }

DType narrow_of_plan(std::string_view text, const std::string& who) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.starts_with("narrow ")) continue;
    const std::string_view format = line.substr(7, line.find_last_not_of(" \r\t") - 6);
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      if (format == name(dtype)) return dtype;
    throw ModelError(
        concat(who, ": expected \"narrow f16\" or \"narrow bf16\", found \"", line, '"'));
  }
  throw ModelError(concat(who, ": has no line \"narrow f16\" or \"narrow bf16\": not a plan"));
}

}  // namespace narrowgauge
