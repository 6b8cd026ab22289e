// SPDX-License-Identifier: Apache-2.0
// Models for batches of any size, from those that were written for one sample.
#pragma once

#include "io/onnx/model.h"

namespace narrowgauge::onnx {

// Where all inputs state the same number as their first size, that size is left open, and so it is
// in the shapes to which Reshape brings what is computed from inputs. Other models stay as they
// are.
Model with_open_batch(Model model);

}  // namespace narrowgauge::onnx
