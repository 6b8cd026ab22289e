// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/linear_attention.h"

#include <cmath>

#include "ops/control/composite.h"
#include "ops/control/control_flow.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/math/matmul.h"
#include "ops/shape/reshape.h"
#include "ops/shape/transpose.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

enum Input { query, key, value, past, decay, beta };

// The sizes of one call.
struct Sizes {
  Dim batch, steps;
  std::int64_t heads, groups, width, value_width;
  Shape state() const { return {batch, heads, width, value_width}; }
};

Sizes sizes_of(const LinearAttention& op, const Shape& q, const Shape& k, const Shape& v) {
  const std::int64_t heads = op.kv_num_heads;
  require(heads >= 1 && op.q_num_heads >= 1 && op.q_num_heads % heads == 0,
          "LinearAttention: kv_num_heads ", heads, " does not divide q_num_heads ", op.q_num_heads);
  const auto width = [&](const Shape& x, std::int64_t of) {
    require(x.size() == 3 && x[0] == q[0] && x[1] == q[1] && x[2].is_known() &&
                x[2].value() % of == 0 && x[2].value() > 0,
            "LinearAttention: expected [N,T,", of, "*width] for q ", q, ", got ", x);
    return x[2].value() / of;
  };
  const Sizes sizes{q.empty() ? Dim(0) : q[0], q.size() < 2 ? Dim(0) : q[1], heads,
                    op.q_num_heads / heads,    width(q, op.q_num_heads),     width(v, heads)};
  require(width(k, heads) == sizes.width, "LinearAttention: keys ", k,
          " are not as wide as queries ", q);
  return sizes;
}

// Checks an optional input [N, T, width], of either width.
void require_gate(const Inference& in, int input, bool needed, const Sizes& s, const Dims& widths) {
  require(in.has(input) || !needed, "LinearAttention: the update rule needs input ", input);
  if (!in.has(input)) return;
  const Shape narrow{s.batch, s.steps, widths[0]}, wide{s.batch, s.steps, widths[1]};
  require(in.shape(input) == narrow || in.shape(input) == wide, "LinearAttention: expected input ",
          input, " ", narrow, " or ", wide, ", got ", in.type(input));
}

}  // namespace

TensorTypes LinearAttention::infer(const Inference& in) const {
  require(is_gated() || is_delta() || update_rule == "linear",
          "LinearAttention: update_rule must be linear, gated, delta or gated_delta, got '",
          update_rule, "'");
  require(scale >= 0 && std::isfinite(scale), "LinearAttention: scale must not be negative, got ",
          scale);
  require(chunk_size >= 1, "LinearAttention: chunk_size must be positive, got ", chunk_size);
  const Sizes s = sizes_of(*this, in.shape(query), in.shape(key), in.shape(value));
  require_gate(in, decay, is_gated(), s, {s.heads, s.heads * s.width});
  require_gate(in, beta, is_delta(), s, {1, s.heads});
  require(!in.has(past) || in.shape(past) == s.state(), "LinearAttention: expected past_state ",
          s.state(), ", got ", in.has(past) ? in.type(past) : TensorType{});
  const DType of_state = in.has(past) ? in.dtype(past) : in.dtype(query);
  return {{in.dtype(query), {s.batch, s.steps, s.heads * s.groups * s.value_width}},
          {of_state, s.state()}};
}

namespace {

// One step: the state and the slices of q, k, v, decay and beta, in this order; the last two may be
// missing.
struct Step {
  Expression state, q, k, v;
  std::optional<Expression> decay, beta;

  Expression product(Expression a, bool transpose_a, Expression b) const {
    return a.apply(FusedMatMul{transpose_a, false}, b);
  }
  Expression next_state() const {
    const Expression kept = decay ? state * exp(*decay) : state;
    const Expression added = beta ? *beta * (v - product(k, true, kept)) : v;
    return kept + k * added;
  }
};

Region step_region(const Rewriting& outer, const Values& inputs, bool gated, bool delta) {
  Graph graph("step");
  Rewriting r(graph, {}, {});
  std::vector<Expression> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TensorType type = outer.type(inputs[i]);
    if (i > 0) type.shape.erase(type.shape.begin());
    in.push_back({r, graph.input(concat("in", i), type)});
  }
  Step step{in[0], in[1], in[2], in[3], {}, {}};
  if (gated) step.decay = in[4];
  if (delta) step.beta = in[gated ? 5 : 4];
  const Expression next = step.next_state();
  graph.output("state", next);
  graph.output("y", step.product(step.q, false, next));
  return std::make_shared<const Graph>(std::move(graph));
}

}  // namespace

Values LinearAttention::decompose(Rewriting& r) const {
  const Sizes s =
      sizes_of(*this, r.shape(r.input(query)), r.shape(r.input(key)), r.shape(r.input(value)));
  const DType dtype = r.type(r.input(query)).dtype, wide = statistics_dtype(dtype);
  // [N, T, heads * a * b] -> [T, N, heads, a, b], in f32.
  const auto steps_first = [&](int input, std::int64_t heads, std::int64_t a, std::int64_t b) {
    const Value apart = r.add(ReshapeTo{Shape{s.batch, s.steps, heads, a, b}}, {r.input(input)});
    return in_dtype(r, r.add(Transpose{{1, 0, 2, 3, 4}}, {apart}), wide);
  };
  const auto columns = [&](int input) { return r.shape(r.input(input))[2].value(); };
  Value first = absent;
  if (r.has_input(past))
    first = in_dtype(r, r.input(past), wide);
  else
    first = r.add(ExpandTo{s.state()}, {r.scalar(0, wide)});
  Values inputs{first, steps_first(query, s.heads, s.groups, s.width),
                steps_first(key, s.heads, s.width, 1),
                steps_first(value, s.heads, 1, s.value_width)};
  if (is_gated()) inputs.push_back(steps_first(decay, s.heads, columns(decay) / s.heads, 1));
  if (is_delta()) inputs.push_back(steps_first(beta, columns(beta), 1, 1));
  Scan scan;
  scan.num_scan_inputs = static_cast<std::int64_t>(inputs.size()) - 1;
  scan.body = step_region(r, inputs, is_gated(), is_delta());
  const Value last = r.add(scan, inputs);
  const double factor = scale == 0 ? 1 / std::sqrt(static_cast<double>(s.width)) : scale;
  const Expression y = Expression{r, Value{last.node, 1}} * factor;
  const Shape packed{s.batch, s.steps, s.heads * s.groups * s.value_width};
  const Value batch_first = r.add(Transpose{{1, 0, 2, 3, 4}}, {y});
  const DType of_state = r.has_input(past) ? r.type(r.input(past)).dtype : dtype;
  return {in_dtype(r, r.add(ReshapeTo{packed}, {batch_first}), dtype), in_dtype(r, last, of_state)};
}

std::span<const Kernel> LinearAttention::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(linear_attention, narrowgauge::LinearAttention)
