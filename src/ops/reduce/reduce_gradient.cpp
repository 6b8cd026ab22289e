// SPDX-License-Identifier: Apache-2.0
#include "ops/reduce/reduce_gradient.h"

#include <limits>

#include "ops/axes/axes.h"
#include "ops/pointwise/comparison.h"
#include "ops/pointwise/expression.h"
#include "ops/pointwise/rounding.h"
#include "ops/reduce/reduce_axes.h"
#include "ops/shape/reshape.h"

namespace narrowgauge {

namespace {

// x, y and dy of a reduction; y and dy have the reduced axes with size 1, so that they broadcast
// against x.
class ReductionGradient {
 public:
  ReductionGradient(Gradient& g, const Dims& axes)
      : g_(g),
        axes_(axes),
        kept_(reduced_shapes(g.shape(g.input(0)), axes).kept),
        x_(g, g.input(0)),
        y_(g, with_kept_axes(g.output())),
        dy_(g, with_kept_axes(g.output_gradient())) {}

  Value of(Reduction kind) const {
    switch (kind) {
      case Reduction::sum:
        return g_.add(ReduceSumGradient{g_.shape(x_), axes_}, {dy_});
      case Reduction::mean:
        return g_.add(ReduceMeanGradient{g_.shape(x_), axes_}, {dy_});
      case Reduction::maximum:
      case Reduction::minimum:
        return of_extreme();
      case Reduction::product:
        return of_product();
      case Reduction::l1:
        return x_.apply(Sign{}) * dy_;
      case Reduction::l2:
        return x_ * where(y_ == 0, 0, dy_ / y_);
      case Reduction::sum_square:
        return x_ * (2 * dy_);
      case Reduction::log_sum:
        return g_.add(ReduceSumGradient{g_.shape(x_), axes_}, {dy_ * exp(-y_)});
      case Reduction::log_sum_exp:
        return of_exponentials();
    }
    throw InternalError("unknown reduction");
  }

 private:
  Value with_kept_axes(Value value) const {
    return g_.shape(value) == kept_ ? value : g_.add(ReshapeTo{kept_}, {value});
  }

  Expression sum(Expression value) const {
    return {g_, g_.add(ReduceSum{.noop_with_empty_axes = 1}, {value, g_.constant(list_of(axes_))})};
  }

  // Elements that equal the result share its gradient evenly.
  Value of_extreme() const {
    const Expression wins = x_.apply(Equal{}, y_);
    const Expression count = sum(where(wins, x_.number(1), 0));
    return where(wins, dy_ / count, 0);
  }

  // The product of the other elements: y / x without zeros; with one zero, the product of the rest
  // there and 0 elsewhere; with more zeros, 0.
  Value of_product() const {
    const Expression is_zero = x_ == 0;
    const Expression zeros = sum(where(is_zero, x_.number(1), 0));
    const Expression safe = where(is_zero, 1, x_);
    const Expression product{
        g_, g_.add(ReduceProd{.noop_with_empty_axes = 1}, {safe, g_.constant(list_of(axes_))})};
    const Expression scaled = dy_ * product;
    return where(zeros == 0, scaled / safe, where(zeros == 1, where(is_zero, scaled, 0), 0));
  }

  // exp(x - y); y = -inf means that all of x is -inf.
  Value of_exponentials() const {
    const double infinity = std::numeric_limits<double>::infinity();
    const Expression shift = where(y_ == -infinity, 0, y_);
    return exp(x_ - shift) * dy_;
  }

  Gradient& g_;
  const Dims& axes_;
  Shape kept_;
  Expression x_, y_, dy_;
};

}  // namespace

Value reduction_gradient(Reduction kind, Gradient& g, const Dims& axes) {
  return ReductionGradient(g, axes).of(kind);
}

}  // namespace narrowgauge
