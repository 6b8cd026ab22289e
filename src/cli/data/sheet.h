// SPDX-License-Identifier: Apache-2.0
// Some pictures of each class on one sheet.
#pragma once

#include <string>

#include "narrowgauge/images.h"

namespace narrowgauge::cli {

void check_sheet_name(const std::string& path);  // throws UsageError unless it is .png or .html
// Writes a picture (.png), a row for each class, or a page with their names (.html). Throws
// UsageError for another ending, DataError for data without pictures.
void write_sheet(const std::string& path, const Data& data, const std::string& name);

}  // namespace narrowgauge::cli
