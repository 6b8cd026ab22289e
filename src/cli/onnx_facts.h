// SPDX-License-Identifier: Apache-2.0
// What `narrowgauge info model.onnx` prints.
#pragma once

#include <string>
#include <vector>

namespace narrowgauge::cli {

// `shapes`: of inputs, each "NAME=DIMS".
void print_onnx_info(const std::string& path, const std::vector<std::string>& shapes, bool json);

}  // namespace narrowgauge::cli
