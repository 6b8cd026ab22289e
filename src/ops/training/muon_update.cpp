// SPDX-License-Identifier: Apache-2.0
#include "ops/training/muon_update.h"

#include <algorithm>
#include <cmath>

#include "ops/control/composite.h"
#include "ops/elementwise/expression.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/math/matmul.h"
#include "ops/math/min_max.h"
#include "ops/math/reduce.h"
#include "ops/shape/reshape.h"
#include "ops/table.h"
#include "ops/training/update_op.h"
#include "ops/training/weight_update.h"

namespace narrowgauge {

void MuonUpdate::check(std::string_view who) const {
  require_share(who, "momentum", momentum);
  check_adam(who, {beta1, beta2, epsilon, weight_decay});
}

std::vector<std::string_view> MuonUpdate::moments_of(const Shape& weight) {
  if (weight.size() == 2) return {"first_moment"};
  return {"first_moment", "second_moment"};
}

TensorTypes MuonUpdate::infer(const Inference& in) const {
  check(in.op_name());
  const bool matrix = in.rank(0) == 2;
  require(in.has(3) != matrix, "MuonUpdate: a second_moment goes with what is no matrix, got ",
          matrix ? "one" : "none", " with a weight of ", in.type(0));
  return infer_update(in, narrow);
}

namespace {

namespace muon_port {
enum { weight, gradient, first_moment, second_moment, rate, multiplier, applied, steps };
}

// The matrix with its singular values brought near 1 by X = a X + (b A + c A A) X, where A = X X',
// in five steps: Jordan et al. 2024, with the coefficients chosen there. A tall matrix is
// multiplied from its other side, where A is smaller.
Expression orthogonalized(Rewriting& r, Expression x) {
  constexpr double a = 3.4445, b = -4.7750, c = 2.0315, least_norm = 1e-7;
  const Shape shape = r.shape(x);
  const bool tall = known_dims(shape)[0] > known_dims(shape)[1];
  const Expression norm = sqrt((x * x).apply(ReduceSum{.keepdims = 0}));
  x = x / norm.apply(Max{}, norm.number(least_norm));
  for (int step = 0; step < 5; ++step) {
    const Expression gram = x.apply(FusedMatMul{.transA = tall, .transB = !tall}, x);
    const Expression update = b * gram + c * gram.apply(MatMul{}, gram);
    x = a * x + (tall ? x.apply(MatMul{}, update) : update.apply(MatMul{}, x));
  }
  return x;
}

double rate_factor(const MuonUpdate& op, const Shape& shape) {
  const Dims dims = known_dims(shape);
  const auto rows = static_cast<double>(dims[0]), columns = static_cast<double>(dims[1]);
  return op.original_rate ? std::sqrt(std::max(1.0, rows / columns))
                          : 0.2 * std::sqrt(std::max(rows, columns));
}

Values update_matrix(const MuonUpdate& op, Rewriting& r) {
  const DType dtype = r.type(r.input(muon_port::weight)).dtype;
  const Expression w(r, r.input(muon_port::weight)), before(r, r.input(muon_port::first_moment)),
      is_applied(r, r.input(muon_port::applied));
  const Expression g = in_dtype(r, r.input(muon_port::gradient), dtype) *
                       in_dtype(r, r.input(muon_port::multiplier), dtype);
  const Expression rate_now = in_dtype(r, r.input(muon_port::rate), dtype);
  const Expression average = before + (1 - op.momentum) * (g - before);
  const Expression direction = op.nesterov ? g + op.momentum * (average - g) : average;
  const Expression step = orthogonalized(r, direction) * (rate_now * rate_factor(op, r.shape(w)));
  const Expression next = where(is_applied, w * (1.0 - rate_now * op.weight_decay) - step, w);
  const Value none = r.add(ExpandTo{r.shape(w)}, {r.scalar(0, dtype)});
  return {next, where(is_applied, average, before), none, in_dtype(r, next, op.narrow)};
}

}  // namespace

Values MuonUpdate::decompose(Rewriting& r) const {
  if (r.shape(r.input(muon_port::weight)).size() == 2) return update_matrix(*this, r);
  AdamUpdate adam{.beta1 = beta1, .beta2 = beta2, .epsilon = epsilon};
  adam.weight_decay = weight_decay;
  adam.decoupled = true;
  adam.narrow = narrow;
  const int made = r.add(adam, {r.input(muon_port::weight), r.input(muon_port::gradient),
                                r.input(muon_port::first_moment), r.input(muon_port::second_moment),
                                absent, r.input(muon_port::rate), r.input(muon_port::multiplier),
                                r.input(muon_port::applied), r.input(muon_port::steps)})
                       .node;
  return {{made, 0}, {made, 1}, {made, 2}, {made, 4}};
}

std::span<const Kernel> MuonUpdate::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(muon_update, narrowgauge::MuonUpdate)
