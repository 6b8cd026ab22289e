// SPDX-License-Identifier: Apache-2.0
#include "ops/nn/attention.h"

#include <limits>

#include "base/enumerate.h"
#include "ops/elementwise/expression.h"
#include "ops/elementwise/in_dtype.h"
#include "ops/math/broadcast_gradient.h"
#include "ops/math/cast.h"
#include "ops/math/matmul.h"
#include "ops/math/reduce.h"
#include "ops/nn/random_key.h"
#include "ops/nn/softmax.h"
#include "ops/shape/reshape.h"
#include "ops/shape/transpose.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

// Checks q, k and v, inputs first to first + 2, and mask and key, inputs mask and mask + 1.
template <class AttentionOp>
void check_attention(const AttentionOp& op, const Inference& in, int first, int mask) {
  const Shape &q = in.shape(first), &k = in.shape(first + 1), &v = in.shape(first + 2);
  require(q.size() == 3 && k.size() == 3 && v == k && q[0] == k[0] && q[2] == k[2], in.op_name(),
          ": expected q [N,T,width], k and v [N,S,width], got ", in.type(first), ", ",
          in.type(first + 1), " and ", in.type(first + 2));
  require(op.q_num_heads >= 1 && q[2].is_known() && q[2].value() % op.q_num_heads == 0 &&
              q[2].value() > 0,
          in.op_name(), ": ", op.q_num_heads, " heads do not divide a width of ", q[2]);
  require(op.scale >= 0, in.op_name(), ": scale must not be negative, got ", op.scale);
  require(op.dropout >= 0 && op.dropout < 1, in.op_name(), ": dropout must lie in [0, 1), got ",
          op.dropout);
  const Shape scores{q[0], op.q_num_heads, q[1], k[1]};
  if (in.has(mask))
    require(broadcast_shapes(in.op_name(), in.shape(mask), scores) == scores, in.op_name(),
            ": the mask ", in.type(mask), " does not broadcast to ", scores);
  require(op.dropout == 0 || in.has(mask + 1), in.op_name(), ": dropout needs a random key");
  if (in.has(mask + 1)) require_random_key(in, mask + 1);
}

Shape statistics_shape(const Shape& q, std::int64_t heads) { return {q[0], heads, q[1]}; }

}  // namespace

TensorTypes Attention::infer(const Inference& in) const {
  check_attention(*this, in, 0, 3);
  return {in.type(0), {statistics_dtype(in.dtype(0)), statistics_shape(in.shape(0), q_num_heads)}};
}

TensorTypes AttentionGradient::infer(const Inference& in) const {
  check_attention(*this, in, 1, 5);
  require(in.shape(0) == in.shape(1), "AttentionGradient: expected dy of the shape of q, got ",
          in.type(0), " and ", in.type(1));
  require(in.shape(4) == statistics_shape(in.shape(1), q_num_heads),
          "AttentionGradient: expected logsumexp [N,heads,T], got ", in.type(4));
  return {in.type(1), in.type(2), in.type(3)};
}

namespace {

// The parts of attention, with the whole matrix of scores.
class WholeAttention {
 public:
  WholeAttention(Rewriting& r, const AttentionSettings& settings, Value q, Value k, Value v,
                 Value mask)
      : r_(r),
        settings_(settings),
        dtype_(r.type(q).dtype),
        q_(heads_first(q)),
        k_(heads_first(k)),
        v_(heads_first(v)),
        mask_(mask) {}

  DType dtype() const { return dtype_; }
  Value v() const { return v_; }

  // [N, T, heads * width] -> [N, heads, T, width]
  Value heads_first(Value x) const {
    const Shape from = r_.shape(x);
    const Shape apart{from[0], from[1], settings_.heads, from[2].value() / settings_.heads};
    return r_.add(Transpose{{0, 2, 1, 3}}, {r_.add(ReshapeTo{apart}, {x})});
  }
  Value heads_last(Value x) const {
    const Shape from = r_.shape(x);
    const Shape joined{from[0], from[2], settings_.heads * from[3].value()};
    return r_.add(ReshapeTo{joined}, {r_.add(Transpose{{0, 2, 1, 3}}, {x})});
  }
  Expression product(Value a, bool transpose_a, Value b, bool transpose_b) const {
    return {r_, r_.add(FusedMatMul{transpose_a, transpose_b}, {a, b})};
  }
  Expression cast(Value value) const {
    if (r_.type(value).dtype == dtype_) return {r_, value};
    return {r_, r_.add(Cast{.to = dtype_}, {value})};
  }

  Expression scores() const {
    Expression s = product(q_, false, k_, true) * settings_.scale;
    if (!mask_.is_absent()) s = s + cast(mask_);
    if (settings_.causal) s = s + Expression{r_, r_.constant(hidden(r_.shape(s)))};
    return s;
  }
  // Multiplies the shares by d, the dropout's factors; 1 without dropout.
  Expression dropped(Expression shares, Value key) const {
    if (settings_.keep == 1) return shares;
    const Value kept = r_.add(KeptElements{r_.shape(shares), settings_.keep}, {key});
    return shares * (cast(kept) / settings_.keep);
  }

  // Gradients of q, k, v and the mask, given those of y and logsumexp; either may be absent.
  Values gradients(Value dy, Value dlogsumexp, Value logsumexp, Value key) const {
    const Expression shares = exp(scores() - per_query(logsumexp));
    Values result(4);
    std::optional<Expression> ds;
    if (!dy.is_absent()) {
      const Value gradient = heads_first(dy);
      result[2] = heads_last(product(dropped(shares, key), true, gradient, false));
      const Expression g = dropped(product(gradient, false, v_, true), key);
      ds = shares * (g - sum_over_keys(shares * g));
    }
    if (!dlogsumexp.is_absent()) {
      const Expression more = shares * per_query(dlogsumexp);
      ds = ds ? *ds + more : more;
    }
    result[0] = heads_last(product(*ds, false, k_, false) * settings_.scale);
    result[1] = heads_last(product(*ds, true, q_, false) * settings_.scale);
    if (mask_.is_absent()) return result;
    result[3] = reduce_to(r_, *ds, mask_);
    if (const DType dtype = r_.type(mask_).dtype; dtype != dtype_)
      result[3] = r_.add(Cast{.to = dtype}, {result[3]});
    return result;
  }

 private:
  Expression per_query(Value logsumexp) const {
    Shape shape = r_.shape(logsumexp);
    shape.push_back(1);
    return cast(r_.add(ReshapeTo{std::move(shape)}, {logsumexp}));
  }
  Expression sum_over_keys(Value value) const {
    Shape shape = r_.shape(value);
    shape.back() = 1;
    return {r_, r_.add(BroadcastGradient{std::move(shape)}, {value})};
  }
  // The mask that is -inf where a query does not see a key.
  Tensor hidden(const Shape& scores) const {
    require(scores[2].is_known() && scores[3].is_known(),
            "Attention: the parts of causal attention need known lengths, got ", scores);
    Tensor mask(dtype_, {scores[2].value(), scores[3].value()});
    for (std::int64_t t = 0; t < scores[2].value(); ++t)
      for (std::int64_t s = t + 1; s < scores[3].value(); ++s)
        mask.set(t * scores[3].value() + s, -std::numeric_limits<double>::infinity());
    return mask;
  }

  Rewriting& r_;
  AttentionSettings settings_;
  DType dtype_;
  Value q_, k_, v_, mask_;
};

template <class AttentionOp>
WholeAttention whole_attention(const AttentionOp& op, Rewriting& r, int first, int mask) {
  const Value q = r.input(first);
  return {r,
          settings_of(op, r.shape(q)[2].value()),
          q,
          r.input(first + 1),
          r.input(first + 2),
          r.input(mask)};
}

}  // namespace

Values Attention::decompose(Rewriting& r) const {
  const WholeAttention parts = whole_attention(*this, r, 0, 3);
  const Expression scores = parts.scores();
  const Value shares = r.add(Softmax{}, {scores});
  const Value mixed =
      parts.product(parts.dropped({r, shares}, r.input(4)), false, parts.v(), false);
  ReduceLogSumExp sum;
  sum.keepdims = 0;
  Value wide = scores;
  if (const DType dtype = statistics_dtype(parts.dtype()); dtype != parts.dtype())
    wide = r.add(Cast{.to = dtype}, {wide});
  return {parts.heads_last(mixed), r.add(sum, {wide, r.constant(Tensor::from<std::int64_t>(
                                                         {1}, std::vector<std::int64_t>{-1}))})};
}

Values AttentionGradient::decompose(Rewriting& r) const {
  Values all =
      whole_attention(*this, r, 1, 5).gradients(r.input(0), absent, r.input(4), r.input(6));
  all.resize(3);
  return all;
}

Values Attention::gradient(Gradient& g) const {
  Values all(5);
  if (g.has_output_gradient(1) || g.wants(3)) {
    const Values by_parts =
        whole_attention(*this, g, 0, 3)
            .gradients(g.output_gradient(0), g.output_gradient(1), g.output(1), g.input(4));
    std::copy(by_parts.begin(), by_parts.end(), all.begin());
    return all;
  }
  const Value first = g.add(AttentionGradient{q_num_heads, scale, is_causal, dropout},
                            {g.output_gradient(0), g.input(0), g.input(1), g.input(2), g.output(1),
                             g.input(3), g.input(4)});
  for (const auto& [output, gradient] : enumerate(std::span(all).first(3)))
    gradient = {first.node, output};
  return all;
}

namespace {

// The flops of `count` products of [T, S] with the width of all heads.
double product_flops(int count, const TensorType& q, const TensorType& k) {
  return 2.0 * count * static_cast<double>(element_count(known_dims(q.shape))) *
         static_cast<double>(k.shape[1].value());
}

}  // namespace

double Attention::flops(std::span<const TensorType> in, std::span<const TensorType>) const {
  return product_flops(2, in[0], in[1]);
}

double AttentionGradient::flops(std::span<const TensorType> in, std::span<const TensorType>) const {
  return product_flops(5, in[1], in[2]);
}

}  // namespace narrowgauge

NG_OPS(attention, narrowgauge::Attention, narrowgauge::AttentionGradient)
