// SPDX-License-Identifier: Apache-2.0
// What a conversion made and cost, as a table and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/common/json.h"
#include "narrowgauge/engine.h"

namespace narrowgauge::cli {

// What the report of an engine does not know.
struct ConvertedNames {
  std::string model, data, file;  // "" for data and file: there are none
  std::string calibrator;
  std::string ranges;  // where they are from
};

std::string conversion_text(const ConversionReport& report, const ConvertedNames& names);
JsonObject conversion_json(const ConversionReport& report, const ConvertedNames& names);

// What each calibrator makes of each value.
std::string ranges_text(const std::vector<ComparedRanges>& ranges, const ConvertedNames& names);
JsonObject ranges_json(const std::vector<ComparedRanges>& ranges, const ConvertedNames& names);

}  // namespace narrowgauge::cli
