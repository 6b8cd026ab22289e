// SPDX-License-Identifier: Apache-2.0
// Where the channels of images in arrays stand: as a flag says, as in the training, or as the sides
// tell.
#pragma once

#include "cli/task/task.h"

namespace narrowgauge::cli {

// Says how the images of a set would be taken, where their channels stand last or may do so.
void tell_layout(const DataSplit& split, const std::string& data);

// Makes images [N,H,W,C] of a set's only input [N,C,H,W], and says so where no flag does. A trained
// network takes those as it did in its training, where they fit one way only. Throws DataError
// where --layout says what arrays of these shapes cannot have.
void take_layout(DataSplit& split, const Settings& settings,
                 const std::optional<ImageFacts>& trained);

// Takes the layout for a network from a file with this input: what fits as it is stays so.
void take_layout(DataSplit& split, const Settings& settings, const Shape& input);

}  // namespace narrowgauge::cli
