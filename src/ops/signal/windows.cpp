// SPDX-License-Identifier: Apache-2.0
#include "ops/signal/windows.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "narrowgauge/graph.h"
#include "ops/control/composite.h"
#include "ops/no_gradient.h"
#include "ops/shape/axes.h"
#include "ops/table.h"

namespace narrowgauge {

template <const WindowShape& shape>
TensorTypes Window<shape>::infer(const Inference& in) const {
  const Dims size = constant_integers(in, 0, "size");
  require(size.size() == 1 && size[0] >= 0 && size[0] <= Tensor::most_elements, info.name,
          ": expected one size from 0 to ", Tensor::most_elements, ", got ", size);
  return {{output_datatype, {size[0]}}};
}

template <const WindowShape& shape>
Values Window<shape>::decompose(Rewriting& r) const {
  const std::int64_t size = integers_of(*r.graph().constant_value(r.input(0)))[0];
  const std::int64_t steps = std::max<std::int64_t>(1, periodic != 0 ? size : size - 1);
  Tensor window(output_datatype, {size});
  for (std::int64_t i = 0; i < size; ++i) {
    const double t = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(steps);
    window.set(i, shape.a0 - shape.a1 * std::cos(t) + shape.a2 * std::cos(2 * t));
  }
  return {r.constant(window)};
}

template <const WindowShape& shape>
std::span<const Kernel> Window<shape>::kernels() {
  return composite_kernels();
}

template struct Window<hann_window>;
template struct Window<hamming_window>;
template struct Window<blackman_window>;

}  // namespace narrowgauge

NG_OPS(windows, narrowgauge::HannWindow, narrowgauge::HammingWindow, narrowgauge::BlackmanWindow)
NG_NO_GRADIENT(windows, "made of known numbers", narrowgauge::HannWindow,
               narrowgauge::HammingWindow, narrowgauge::BlackmanWindow)
