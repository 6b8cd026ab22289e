// SPDX-License-Identifier: Apache-2.0
// What must be known of a plan's file before there is a trainer to read it with.
#pragma once

#include <string>

namespace narrowgauge::cli {

// off, f16 or bf16, as its header says. Throws DataError when the file cannot be read, ModelError
// when it is no plan.
std::string format_of_plan(const std::string& path);

}  // namespace narrowgauge::cli
