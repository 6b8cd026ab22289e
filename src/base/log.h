// SPDX-License-Identifier: Apache-2.0
// Messages to the host program. The library itself prints nothing: without a sink they are dropped.
#pragma once

#include "narrowgauge/error.h"
#include "narrowgauge/log.h"

namespace narrowgauge {

void log(LogLevel level, const std::string& message);

}  // namespace narrowgauge
