// SPDX-License-Identifier: Apache-2.0
// Convolution and its gradients in plain loops over doubles.
#pragma once

#include "ops/pool/window.h"
#include "ops/reference.h"

namespace narrowgauge {

struct ConvolutionCase {
  Window window;
  std::int64_t group = 1;
};

void convolve(const ConvolutionCase& c, const ReferenceView& x, const ReferenceView& w,
              const ReferenceView* bias, const ReferenceView& y);
void convolve_data_gradient(const ConvolutionCase& c, const ReferenceView& dy,
                            const ReferenceView& w, const ReferenceView& dx);
void convolve_weight_gradient(const ConvolutionCase& c, const ReferenceView& x,
                              const ReferenceView& dy, const ReferenceView& dw);

}  // namespace narrowgauge
