// SPDX-License-Identifier: Apache-2.0
// Groups of parameters as --group states them: "features.*: rate=0.1, weight_decay=0".
#pragma once

#include <string>

#include "narrowgauge/optimizer.h"

namespace narrowgauge::cli {

// A pattern of names, a colon, and a list of rate=X (times the learning rate), weight_decay=X and
// frozen. The last colon counts, since names may have some. Throws UsageError for another text.
ParameterGroup parse_group(const std::string& text);

}  // namespace narrowgauge::cli
