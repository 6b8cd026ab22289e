// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/onnx_attention.h"

#include <cmath>
#include <limits>

#include "ops/activation/sigmoid.h"
#include "ops/control/composite.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/math/comparison.h"
#include "ops/math/logic.h"
#include "ops/math/matmul.h"
#include "ops/math/reduce.h"
#include "ops/nn/softmax.h"
#include "ops/shape/axes.h"
#include "ops/shape/concat.h"
#include "ops/shape/reshape.h"
#include "ops/shape/transpose.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

enum Input { query, key, value, mask, past_key, past_value, valid };

// A packed shape [N, T, heads * width] as [N, heads, T, width]; one of rank 4 as it is.
Shape apart(const Shape& x, std::int64_t heads) {
  if (x.size() == 4) return x;
  require(x.size() == 3 && heads >= 1 && x[2].is_known() && x[2].value() % heads == 0,
          "Attention: ", heads, " heads do not divide the width of ", x);
  return {x[0], heads, x[1], x[2].value() / heads};
}

// The shapes of one call, with heads apart; k and v without what came before.
struct Shapes {
  Shape q, k, v;
  Dim past = 0;
  Dim keys() const { return past + k[2]; }
  Shape scores() const { return {q[0], q[1], q[2], keys()}; }
};

void check_heads(const Shapes& s) {
  const auto heads = [](const Shape& x) { return x[1].is_known() ? x[1].value() : 0; };
  require(s.k[0] == s.q[0] && s.v[0] == s.q[0] && s.k[1] == s.v[1] && s.k[2] == s.v[2] &&
              s.k[3] == s.q[3] && heads(s.k) >= 1 && heads(s.q) % heads(s.k) == 0,
          "Attention: expected q [N,heads,T,width], k and v [N,heads/groups,S,width], got ", s.q,
          ", ", s.k, " and ", s.v);
  require(s.q[3].is_known() && s.q[3].value() > 0, "Attention: the width of q ", s.q,
          " must be known and positive");
}

void check_attributes(const OnnxAttention& op) {
  require(op.qk_matmul_output_mode >= 0 && op.qk_matmul_output_mode <= 3,
          "Attention: qk_matmul_output_mode must be 0 to 3, got ", op.qk_matmul_output_mode);
  require(op.left_window_size >= -1 && op.right_window_size >= -1 &&
              op.left_window_size <= INT32_MAX && op.right_window_size <= INT32_MAX,
          "Attention: window sizes must be at least -1 and below 2^31, got ", op.left_window_size,
          " and ", op.right_window_size);
  require(op.scale >= 0 && std::isfinite(op.scale) && op.softcap >= 0 && std::isfinite(op.softcap),
          "Attention: scale and softcap must not be negative, got ", op.scale, " and ", op.softcap);
  const std::int64_t p = op.softmax_precision;
  require(p == 0 || p == 1 || p == 10 || p == 11 || p == 16,
          "Attention: softmax_precision must be 1, 10, 11 or 16, got ", p);
}

DType softmax_dtype(const OnnxAttention& op, DType otherwise) {
  switch (op.softmax_precision) {
    case 1:
      return DType::f32;
    case 10:
      return DType::f16;
    case 11:
      return DType::f64;
    case 16:
      return DType::bf16;
    default:
      return otherwise;
  }
}

Shapes shapes_of(const OnnxAttention& op, const Shape& q, const Shape& k, const Shape& v) {
  return {apart(q, op.q_num_heads), apart(k, op.kv_num_heads), apart(v, op.kv_num_heads)};
}

void check_mask(const Inference& in, const Shapes& s) {
  require(in.dtype(mask) == DType::boolean || is_floating(in.dtype(mask)),
          "Attention: expected a mask of bool or floats, got ", in.type(mask));
  Shape shape = in.shape(mask);
  const Dim keys = s.keys();
  if (!shape.empty() && shape.back().is_known() && keys.is_known() && shape.back().value() > 1 &&
      shape.back().value() < keys.value())
    shape.back() = keys;
  require(broadcast_shapes("Attention", shape, s.scores()) == s.scores(), "Attention: the mask ",
          in.type(mask), " does not broadcast to ", s.scores());
}

bool hides_by_place(const OnnxAttention& op) {
  return op.is_causal != 0 || op.left_window_size >= 0 || op.right_window_size >= 0;
}

}  // namespace

TensorTypes OnnxAttention::infer(const Inference& in) const {
  check_attributes(*this);
  require(in.rank(query) == in.rank(key) && in.rank(query) == in.rank(value),
          "Attention: expected q, k and v of one rank, got ", in.type(query), ", ", in.type(key),
          " and ", in.type(value));
  Shapes s = shapes_of(*this, in.shape(query), in.shape(key), in.shape(value));
  check_heads(s);
  require(in.has(past_key) == in.has(past_value),
          "Attention: past_key and past_value must be given together");
  if (in.has(past_key)) {
    Shape k = s.k, v = s.v;
    k[2] = v[2] = s.past = in.rank(past_key) == 4 ? in.shape(past_key)[2] : Dim(0);
    require(in.shape(past_key) == k && in.shape(past_value) == v, "Attention: expected the past ",
            k, " and ", v, ", got ", in.type(past_key), " and ", in.type(past_value));
    require(!in.has(valid), "Attention: nonpad_kv_seqlen stands instead of a past");
  }
  require(!in.has(valid) || in.shape(valid) == Shape{s.q[0]},
          "Attention: expected nonpad_kv_seqlen for ", s.q[0], " examples, got ",
          in.has(valid) ? in.type(valid) : TensorType{});
  if (in.has(mask)) check_mask(in, s);
  if (hides_by_place(*this) || in.has(valid))
    require(s.q[2].is_known() && s.keys().is_known(),
            "Attention: causal attention and windows need known lengths, got ", s.scores());
  Shape y = s.q;
  y[3] = s.v[3];
  if (in.rank(query) == 3) y = {s.q[0], s.q[2], s.q[1] * s.v[3]};
  Shape k = s.k, v = s.v;
  k[2] = v[2] = s.keys();
  const DType dtype = in.dtype(query);
  return {{dtype, y}, {dtype, k}, {dtype, v}, {dtype, s.scores()}};
}

namespace {

constexpr double hidden = -std::numeric_limits<double>::infinity();

// Builds the parts of one node.
class AttentionParts {
 public:
  AttentionParts(Rewriting& r, const OnnxAttention& op)
      : r_(r),
        op_(op),
        dtype_(r.type(r.input(query)).dtype),
        s_(shapes_of(op, r.shape(r.input(query)), r.shape(r.input(key)), r.shape(r.input(value)))) {
    if (r.has_input(past_key)) s_.past = r.shape(r.input(past_key))[2];
    k_ = with_past(key, past_key, s_.k);
    v_ = with_past(value, past_value, s_.v);
  }

  Values outputs() const {
    const Expression raw = product();
    const Expression capped =
        op_.softcap == 0 ? raw : op_.softcap * (raw / op_.softcap).apply(Tanh{});
    const Expression masked = with_mask(capped);
    const Expression shares = softmax(masked);
    const Expression debug[] = {raw, capped, masked, shares};
    return {mixed(shares), k_, v_, debug[op_.qk_matmul_output_mode]};
  }

 private:
  Value reshape(Value x, const Shape& shape) const { return r_.add(ReshapeTo{shape}, {x}); }
  Value heads_first(int input, const Shape& shape) const {
    const Value x = r_.input(input);
    if (r_.shape(x).size() == 4) return x;
    return r_.add(Transpose{{0, 2, 1, 3}}, {reshape(x, {shape[0], shape[2], shape[1], shape[3]})});
  }
  Value with_past(int input, int past, const Shape& shape) const {
    const Value now = heads_first(input, shape);
    return r_.has_input(past) ? r_.add(Concat{2}, {r_.input(past), now}) : now;
  }
  // The heads that one kv head serves, one below the other.
  Shape grouped(const Dim& columns) const {
    const std::int64_t groups = s_.q[1].value() / s_.k[1].value();
    return {s_.q[0], s_.k[1], s_.q[2] * groups, columns};
  }
  // The root of the scale on both sides keeps f16 within its range.
  Expression product() const {
    const double scale =
        op_.scale == 0 ? 1 / std::sqrt(static_cast<double>(s_.q[3].value())) : op_.scale;
    const Value q = reshape(heads_first(query, s_.q), grouped(s_.q[3]));
    const Expression scaled_q = Expression{r_, q} * std::sqrt(scale);
    const Expression scaled_k = Expression{r_, k_} * std::sqrt(scale);
    const Value scores = r_.add(FusedMatMul{false, true}, {scaled_q, scaled_k});
    return {r_, reshape(scores, s_.scores())};
  }
  Value mixed(Value shares) const {
    const Value rows = reshape(shares, grouped(s_.keys()));
    Shape y = s_.q;
    y[3] = s_.v[3];
    const Value heads = reshape(r_.add(MatMul{}, {rows, v_}), y);
    if (r_.shape(r_.input(query)).size() == 4) return heads;
    return reshape(r_.add(Transpose{{0, 2, 1, 3}}, {heads}), {y[0], y[2], y[1] * y[3]});
  }

  // A mask that is too short, with what it lacks.
  Value whole_mask() const {
    const Value given = r_.input(mask);
    Shape rest = r_.shape(given);
    if (rest.empty() || rest.back() == Dim(1) || rest.back() == s_.keys()) return given;
    rest.back() = s_.keys() - rest.back();
    const DType dtype = r_.type(given).dtype;
    const double nothing = dtype == DType::boolean ? 0 : hidden;
    return r_.add(Concat{-1}, {given, r_.add(ExpandTo{rest}, {r_.scalar(nothing, dtype)})});
  }
  Expression with_mask(Expression s) const {
    if (r_.has_input(mask)) {
      const Value all = whole_mask();
      s = r_.type(all).dtype == DType::boolean ? where(Expression{r_, all}, s, hidden)
                                               : s + in_dtype(r_, all, dtype_);
    }
    for (const Value seen : seen_by_place()) s = where(Expression{r_, seen}, s, hidden);
    return s;
  }
  // 0, 1, ... along an axis of [1, 1, T, S].
  Expression numbers(const Dim& count, std::size_t axis) const {
    Dims dims(4, 1);
    dims[axis] = count.value();
    Tensor tensor(DType::i64, dims);
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(i));
    return {r_, r_.constant(tensor)};
  }
  Values seen_by_place() const {
    if (!hides_by_place(op_) && !r_.has_input(valid)) return {};
    Values seen;
    const Expression keys = numbers(s_.keys(), 3);
    Expression offset = keys.number(static_cast<double>(s_.past.is_known() ? s_.past.value() : 0));
    if (r_.has_input(valid)) {
      const Expression lengths{r_, reshape(r_.input(valid), {s_.q[0], 1, 1, 1})};
      seen.push_back(keys.apply(Less{}, lengths));
      offset = lengths - static_cast<double>(s_.q[2].value());
    }
    const Expression places = numbers(s_.q[2], 2) + offset;
    const auto behind = [&](std::int64_t most) {
      seen.push_back(keys.apply(LessOrEqual{}, places + static_cast<double>(most)));
    };
    if (op_.is_causal != 0) behind(0);
    if (op_.right_window_size >= 0) behind(op_.right_window_size);
    if (op_.left_window_size >= 0)
      seen.push_back(
          keys.apply(GreaterOrEqual{}, places - static_cast<double>(op_.left_window_size)));
    return seen;
  }
  Expression softmax(Expression s) const {
    s = in_dtype(r_, s, softmax_dtype(op_, dtype_));
    if (!hides_by_place(op_) && !r_.has_input(mask) && !r_.has_input(valid))
      return in_dtype(r_, s.apply(Softmax{}), dtype_);
    const Value most = r_.add(ReduceMax{}, {s, r_.constant(list_of(Dims{-1}))});
    const Expression sees_nothing = Expression{r_, most} == hidden;
    const Expression shares = where(sees_nothing, 0, s).apply(Softmax{});
    return in_dtype(r_, where(sees_nothing, 0, shares), dtype_);
  }

  Rewriting& r_;
  const OnnxAttention& op_;
  DType dtype_;
  Shapes s_;
  Value k_, v_;
};

}  // namespace

Values OnnxAttention::decompose(Rewriting& r) const { return AttentionParts(r, *this).outputs(); }

double OnnxAttention::flops(std::span<const TensorType>, std::span<const TensorType> out) const {
  const Dims scores = known_dims(out[3].shape);
  const auto widths = static_cast<double>(out[1].shape[3].value() + out[2].shape[3].value());
  return 2 * widths * static_cast<double>(element_count(scores));
}

std::span<const Kernel> OnnxAttention::kernels() { return composite_kernels(); }

}  // namespace narrowgauge

NG_OPS(onnx_attention, narrowgauge::OnnxAttention)
