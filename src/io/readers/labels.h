// SPDX-License-Identifier: Apache-2.0
// Labels of classes as data sets store them: 0, 1, ... up to one less than the number of classes.
#pragma once

#include <cstdint>
#include <string>

#include "narrowgauge/tensor.h"

namespace narrowgauge {

// One more than the largest of these labels, u8 or i64 [N]. A label far above the others is damage
// and no class: at most half of the labels below the largest may have no sample. DataError begins
// with `where`.
std::int64_t count_classes(const Tensor& labels, const std::string& where);

// Throws DataError, beginning with `where`, for a label that is none of the classes of the training
// set.
void check_labels(const Tensor& labels, std::int64_t classes, const std::string& where);

}  // namespace narrowgauge
