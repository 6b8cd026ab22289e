// SPDX-License-Identifier: Apache-2.0
// What the samples of quantised ops share.
#pragma once

#include "samples/samples.h"

namespace narrowgauge {

// Of any value; scales are small.
inline SampleInput unsigned_bytes(std::string_view type) { return sample(type, 0, 255); }
inline SampleInput signed_bytes(std::string_view type) { return sample(type, -128, 127); }
inline SampleInput scales(std::string_view type) { return sample(type, 0.01, 0.03); }

}  // namespace narrowgauge
