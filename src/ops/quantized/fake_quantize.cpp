// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/fake_quantize.h"

#include "ops/control/composite.h"
#include "ops/elementwise/expression.h"
#include "ops/math/min_max.h"
#include "ops/quantized/quantize_linear.h"
#include "ops/shape/axes.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"

namespace narrowgauge {

TensorTypes FakeQuantize::infer(const Inference& in) const {
  const DType whole = in.dtype(2);
  require(whole == DType::u8 || whole == DType::i8,
          "FakeQuantize: expected a zero point u8 or i8, got ", whole);
  require(in.shape(1) == in.shape(2), "FakeQuantize: expected a zero point for each scale ",
          in.shape(1), ", got ", in.shape(2));
  const Shape& scale = in.shape(1);
  require(scale.size() <= 1, "FakeQuantize: expected a scale or a list of them, got ", scale);
  if (scale.size() == 1) {
    const std::size_t along = normalize_axis("FakeQuantize", axis, in.shape(0).size());
    require(scale[0] == Dim(1) || scale[0] == in.shape(0)[along],
            "FakeQuantize: expected a scale for each index of axis ", axis, " of ", in.type(0),
            ", got ", in.type(1));
  }
  return {in.type(0)};
}

Values FakeQuantize::decompose(Rewriting& r) const {
  const DType whole = r.type(r.input(2)).dtype;
  const Value numbers = r.add(QuantizeLinear{.axis = axis, .output_dtype = whole},
                              {r.input(0), r.input(1), r.input(2)});
  return {r.add(DequantizeLinear{.axis = axis}, {numbers, r.input(1), r.input(2)})};
}

Values FakeQuantize::gradient(Gradient& g) const {
  Expression step(g, g.input(1));
  if (const Shape& x = g.shape(g.input(0)); g.shape(step).size() == 1) {
    Shape along(x.size(), 1);
    along[normalize_axis("FakeQuantize", axis, x.size())] = g.shape(step)[0];
    step = step.apply(ReshapeTo{along});
  }
  const Expression y(g, g.output());
  return {g.add(ClipGradient{}, {g.input(0), g.output_gradient(), y - step, y + step}), absent,
          absent};
}

std::span<const Kernel> FakeQuantize::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(fake_quantize, narrowgauge::FakeQuantize)
