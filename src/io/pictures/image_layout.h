// SPDX-License-Identifier: Apache-2.0
// Images in memory as all that trains on them takes them.
#pragma once

#include <string>

#include "narrowgauge/data.h"

namespace narrowgauge {

// Images [N,C,H,W] of ones in this layout. Warns, naming the set, where it is automatic and they
// were found to be [N,H,W,C].
Tensor channels_first_of(const Tensor& images, ImageLayout layout, const std::string& set);

}  // namespace narrowgauge
