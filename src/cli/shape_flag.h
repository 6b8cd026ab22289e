// SPDX-License-Identifier: Apache-2.0
// "x=1x3x224x224": the shape of an input of a model.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "narrowgauge/tensor.h"

namespace narrowgauge::cli {

struct Assignment {
  std::string name, value;  // name: "" where none is given
};
// "x=image.npy"; a path may hold '=' behind a '/'.
Assignment parse_assignment(const std::string& text);

// Of "1x3x224x224"; none of "", and nothing where one is no whole number of up to nine digits.
std::optional<Dims> dims_of(const std::string& text);
// The same; UsageError naming the flag.
Dims parse_dims(const std::string& flag, const std::string& text);
// Of a flag that is given for each input; UsageError where a name is missing.
std::map<std::string, Dims> parse_shapes(const std::string& flag,
                                         const std::vector<std::string>& texts);

}  // namespace narrowgauge::cli
