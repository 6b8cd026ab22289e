// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "base/open_file.h"
#include "narrowgauge/precision.h"
#include "precision/plan_reader.h"

namespace narrowgauge {

DType narrow_of_plan(const std::string& path) {
  std::istringstream text(read_text_file(path));
  return narrow_of_plan(text, path);
}

DType narrow_of_plan(std::istream& file, const std::string& path) {
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("narrow ")) continue;
    const std::string format = line.substr(7, line.find_last_not_of(" \r\t") - 6);
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      if (format == name(dtype)) return dtype;
    throw ModelError(
        concat(path, ": expected \"narrow f16\" or \"narrow bf16\", found \"", line, '"'));
  }
  throw ModelError(concat(path, ": has no line \"narrow f16\" or \"narrow bf16\": not a plan"));
}

}  // namespace narrowgauge
