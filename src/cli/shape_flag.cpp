// SPDX-License-Identifier: Apache-2.0
#include "cli/shape_flag.h"

#include <algorithm>

namespace narrowgauge::cli {

Assignment parse_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || text.find('/') < equals) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::optional<Dims> dims_of(const std::string& text) {
  Dims dims;
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    const std::string number = text.substr(begin, end - begin);
    const bool whole = !number.empty() && number.size() < 10 &&
                       number.find_first_not_of("0123456789") == number.npos;
    if (!whole) return {};
    dims.push_back(std::stoll(number));
    begin = end + 1;
  }
  return dims;
}

Dims parse_dims(const std::string& flag, const std::string& text) {
  const std::optional<Dims> dims = dims_of(text);
  require(dims.has_value(), flag, ": expected sizes such as 1x3x224x224, got \"", text, '"');
  return *dims;
}

std::map<std::string, Dims> parse_shapes(const std::string& flag,
                                         const std::vector<std::string>& texts) {
  std::map<std::string, Dims> shapes;
  for (const std::string& text : texts) {
    const auto [name, sizes] = parse_assignment(text);
    require(!name.empty(), flag, ": expected NAME=DIMS, such as x=1x3x224x224, got \"", text, '"');
    shapes[name] = parse_dims(flag, sizes);
  }
  return shapes;
}

}  // namespace narrowgauge::cli
