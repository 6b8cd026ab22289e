// SPDX-License-Identifier: Apache-2.0
// What `narrowgauge info model.onnx` prints.
#pragma once

#include <string>

#include "narrowgauge/model.h"

namespace narrowgauge::cli {

void print_onnx_info(const std::string& path, const KnownInputs& known, bool json);

}  // namespace narrowgauge::cli
