// SPDX-License-Identifier: Apache-2.0
// The formats of the values of a network that are bytes, by what calibration saw of them.
#pragma once

#include <map>
#include <string_view>

#include "quantize/affine.h"
#include "quantize/byte_values.h"
#include "quantize/calibration.h"

namespace narrowgauge {

// u8 with a zero point, by a calibrator (range.h). The values of a group get one format, whose
// range is chosen from all they held together. Throws UsageError for a value that calibration did
// not see, or of which none was finite.
std::map<Value, AffineFormat> choose_formats(const Graph& graph, const ByteValues& values,
                                             const Calibration& calibration,
                                             std::string_view calibrator);

// The scales that the calibrator would give values by themselves; 0 for what was never finite.
// Graph and calibration must outlive it.
OwnScale own_scale(const Graph& graph, const Calibration& calibration, std::string_view calibrator);

}  // namespace narrowgauge
