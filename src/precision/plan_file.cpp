// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "base/open_file.h"
#include "narrowgauge/precision.h"
#include "precision/plan_reader.h"

namespace narrowgauge {

DType narrow_of_plan(const std::string& path) { return narrow_of_plan(read_text_file(path), path); }

DType narrow_of_plan(std::string_view text, const std::string& who) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("narrow ")) continue;
    const std::string format = line.substr(7, line.find_last_not_of(" \r\t") - 6);
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      if (format == name(dtype)) return dtype;
    throw ModelError(
        concat(who, ": expected \"narrow f16\" or \"narrow bf16\", found \"", line, '"'));
  }
  throw ModelError(concat(who, ": has no line \"narrow f16\" or \"narrow bf16\": not a plan"));
}

}  // namespace narrowgauge
