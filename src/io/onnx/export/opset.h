// SPDX-License-Identifier: Apache-2.0
// The oldest opset that has what a node says (ONNX's Changelog.md).
#pragma once

#include <cstdint>
#include <vector>

#include "io/onnx/model.h"
#include "narrowgauge/dtype.h"

namespace narrowgauge::onnx {

inline constexpr std::int64_t oldest_written_opset = 21;

// `dtypes`: of its inputs and outputs.
std::int64_t opset_for(const Node& node, const std::vector<DType>& dtypes);

// The version of the file format that came with an opset.
std::int64_t ir_version_for(std::int64_t opset);

}  // namespace narrowgauge::onnx
