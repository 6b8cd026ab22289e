// SPDX-License-Identifier: Apache-2.0
// Images in the shape that a network's input has.
#pragma once

#include <memory>
#include <string>

#include "narrowgauge/data.h"

namespace narrowgauge::cli {

// The source with its first tensor reshaped as the input, whose first size is the batch: [N,784] of
// images 1x28x28. Throws DataError naming the data where an image has not as many numbers.
std::shared_ptr<DataSource> shaped_as(std::shared_ptr<DataSource> source, const Shape& input,
                                      const std::string& data);

}  // namespace narrowgauge::cli
