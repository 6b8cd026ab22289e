// SPDX-License-Identifier: Apache-2.0
// What a conversion made and cost, as a table and as JSON.
#pragma once

#include <string>

#include "cli/common/json.h"
#include "narrowgauge/engine.h"

namespace narrowgauge::cli {

// What the report of an engine does not know.
struct ConvertedNames {
  std::string model, data, file;  // "" for data and file: there are none
  std::string calibrator;
};

std::string conversion_text(const ConversionReport& report, const ConvertedNames& names);
JsonObject conversion_json(const ConversionReport& report, const ConvertedNames& names);

}  // namespace narrowgauge::cli
