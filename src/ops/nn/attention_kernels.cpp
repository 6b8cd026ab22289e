// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/core/view.h"
#include "narrowgauge/tf32.h"
#include "ops/nn/attention.h"
#include "ops/nn/random_key.h"
#include "ops/reference.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

namespace {

// Ports of the inputs: q, k and v are consecutive, and the key follows the mask.
struct AttentionPorts {
  std::size_t q, mask;
};
template <class AttentionOp>
constexpr AttentionPorts ports = {0, 3};
template <>
constexpr AttentionPorts ports<AttentionGradient> = {1, 5};

bool has(std::span<const Operand> operands, std::size_t i) {
  return i < operands.size() && operands[i].present;
}

// Whether the elements of each row are contiguous.
bool lies_in_rows(const Operand& operand) {
  return operand.storage.is_plain() && operand.strides[2] == 1;
}

std::string operands_reason(const Request& request, const AttentionPorts& at) {
  const DType dtype = request.inputs[at.q].dtype;
  if (!is_f32_or_narrow(dtype)) return concat("computes in f32, not in ", dtype);
  for (const auto operands : {request.inputs, request.outputs})
    for (const Operand& operand : operands) {
      if (!operand.present) continue;
      if (element_count(operand.dims) == 0) return "no elements";
      if (operand.dtype == dtype && operand.dims.size() == 3 && operand.dims[1] > 0 &&
          !lies_in_rows(operand))
        return "the elements of a row are no neighbours";
    }
  if (!has(request.inputs, at.mask)) return {};
  const Operand& mask = request.inputs[at.mask];
  if (bits(mask.dtype) != 16 && mask.dtype != DType::f32) return concat("a mask of ", mask.dtype);
  if (!mask.storage.is_plain()) return concat("a mask in ", mask.storage);
  if (!mask.dims.empty() && mask.dims.back() != 1 && mask.strides.back() != 1)
    return "the mask's keys are no neighbours";
  return {};
}

// Why the tiles cannot multiply the operands as bf16; "" if they can.
std::string tiles_reason(const Request& request, const AttentionPorts& at) {
  if (std::string reason = cpu::tile_isa_reason(request.target.isa); !reason.empty()) return reason;
  if (request.inputs[at.q].dtype != DType::bf16)
    return concat("multiplies bf16, not ", request.inputs[at.q].dtype);
  if (request.math == Math::ieee) return "shares are rounded to bf16, ieee wants f32";
  return {};
}

// Why f32 products do not keep the math; they keep all but those that round operands further.
std::string vectors_reason(const Request& request) {
  const Math math = request.math;
  const bool keeps = math == Math::none || math == Math::f16 || math == Math::bf16 ||
                     (is_f32_math(math) && !rounds_operands(math, request.target));
  return keeps ? "" : concat("math ", math);
}

std::int64_t mask_stride(const Operand& mask, std::size_t from_end) {
  const std::size_t rank = mask.dims.size();
  return from_end > rank || mask.dims[rank - from_end] == 1 ? 0 : mask.strides[rank - from_end];
}

// A request's problem without the pointers, which a call adds.
struct PreparedAttention {
  cpu::AttentionProblem problem;
  bool has_key = false;
  std::vector<Operand> inputs, outputs;
  AttentionPorts at;

  template <class AttentionOp>
  static PreparedAttention of(const Request& request) {
    PreparedAttention p;
    p.at = ports<AttentionOp>;
    p.inputs.assign(request.inputs.begin(), request.inputs.end());
    p.outputs.assign(request.outputs.begin(), request.outputs.end());
    const Dims &q = p.inputs[p.at.q].dims, &k = p.inputs[p.at.q + 1].dims;
    const AttentionSettings settings = settings_of(request.as<AttentionOp>(), q[2]);
    p.problem.shape = {q[0], settings.heads, q[1], k[1], q[2] / settings.heads};
    p.problem.dtype = p.inputs[p.at.q].dtype;
    p.problem.scale = static_cast<float>(settings.scale);
    p.problem.causal = settings.causal;
    p.problem.keep = static_cast<float>(settings.keep);
    if (!has(p.inputs, p.at.mask)) return p;
    const Operand& mask = p.inputs[p.at.mask];
    p.problem.mask = {{nullptr, mask.dtype},
                      mask_stride(mask, 4),
                      mask_stride(mask, 3),
                      mask_stride(mask, 2),
                      mask.dims.empty() || mask.dims.back() == 1};
    return p;
  }

  cpu::AttentionInput input(const KernelCall& call, std::size_t i) const {
    return {call.inputs[i].data, inputs[i].strides[0], inputs[i].strides[1]};
  }
  cpu::AttentionOutput output(const KernelCall& call, std::size_t o) const {
    return {call.outputs[o].data, outputs[o].strides[0], outputs[o].strides[1], call.flushed_at(o)};
  }
  cpu::AttentionProblem with_data(const KernelCall& call) const {
    cpu::AttentionProblem filled = problem;
    filled.q = input(call, at.q);
    filled.k = input(call, at.q + 1);
    filled.v = input(call, at.q + 2);
    if (has(inputs, at.mask)) filled.mask.values.data = call.inputs[at.mask].data;
    if (filled.keep < 1)
      filled.dropout = stream_of_key(call.inputs[at.mask + 1].as<const std::int64_t>());
    return filled;
  }
};

Offer forward_offer(const Request& request, const cpu::AttentionEngine& engine, const char* name,
                    const KernelFacts& facts) {
  const PreparedAttention prepared = PreparedAttention::of<Attention>(request);
  Offer offer;
  offer.implementation = name;
  offer.facts = facts;
  offer.workspace = attention_workspace(engine, prepared.problem.shape);
  offer.run = [prepared, &engine](const KernelCall& call) {
    cpu::AttentionForward forward;
    forward.problem = prepared.with_data(call);
    forward.y = prepared.output(call, 0);
    forward.logsumexp = call.outputs[1].as<float>();
    attention(engine, forward, call.workspace);
  };
  return offer;
}

Offer backward_offer(const Request& request, const cpu::AttentionEngine& engine, const char* name,
                     const KernelFacts& facts) {
  const PreparedAttention prepared = PreparedAttention::of<AttentionGradient>(request);
  Offer offer;
  offer.implementation = name;
  offer.facts = facts;
  offer.workspace = attention_backward_workspace(engine, prepared.problem.shape);
  offer.run = [prepared, &engine](const KernelCall& call) {
    cpu::AttentionBackward backward;
    backward.problem = prepared.with_data(call);
    backward.dy = prepared.input(call, 0);
    backward.logsumexp = call.inputs[4].as<const float>();
    backward.dq = prepared.output(call, 0);
    backward.dk = prepared.output(call, 1);
    backward.dv = prepared.output(call, 2);
    attention_backward(engine, backward, call.workspace);
  };
  return offer;
}

template <class AttentionOp>
Offer offer_with(const Request& request, const cpu::AttentionEngine& engine, const char* name,
                 const KernelFacts& facts) {
  if constexpr (std::is_same_v<AttentionOp, Attention>)
    return forward_offer(request, engine, name, facts);
  else
    return backward_offer(request, engine, name, facts);
}

template <class AttentionOp>
std::string usual_reason(const Request& request) {
  if (std::is_same_v<AttentionOp, Attention> && !request.outputs[0].present)
    return "nobody reads the result";
  if (std::is_same_v<AttentionOp, AttentionGradient> && request.inputs[4].dtype != DType::f32)
    return concat("logsumexp of ", request.inputs[4].dtype);
  return operands_reason(request, ports<AttentionOp>);
}

template <class AttentionOp>
Offer offer_tiles(const Request& request) {
  std::string reason = usual_reason<AttentionOp>(request);
  if (reason.empty()) reason = tiles_reason(request, ports<AttentionOp>);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_with<AttentionOp>(request, cpu::amx::attention_engine, "bf16 tiles, f32 scores",
                                 {.isa = Isa::amx});
}

template <class AttentionOp>
Offer offer_vectors(const Request& request) {
  std::string reason = usual_reason<AttentionOp>(request);
  if (reason.empty()) reason = vectors_reason(request);
  if (!reason.empty()) return Offer::decline(std::move(reason));
  return offer_with<AttentionOp>(request, cpu::vector_attention(), "f32 vectors",
                                 {.widened = request.inputs[0].dtype != DType::f32});
}

// Computes one head, element by element.
struct ReferenceHead {
  const PreparedAttention& prepared;
  const std::vector<ReferenceView>& in;
  std::int64_t image, head;

  const cpu::AttentionShape& shape() const { return prepared.problem.shape; }
  std::int64_t at(std::int64_t rows, std::int64_t row, std::int64_t w) const {
    return ((image * rows + row) * shape().heads + head) * shape().width + w;
  }
  std::int64_t query_index(std::int64_t t) const {
    return (image * shape().heads + head) * shape().queries + t;
  }
  double dot(const ReferenceView& a, std::int64_t t, const ReferenceView& b, std::int64_t s) const {
    double sum = 0;
    for (std::int64_t w = 0; w < shape().width; ++w)
      sum += a[at(shape().queries, t, w)] * b[at(shape().keys, s, w)];
    return sum;
  }
  // The mask's value at a place; a mask may have fewer or broadcast axes.
  double mask(std::int64_t t, std::int64_t s) const {
    if (!has(prepared.inputs, prepared.at.mask)) return 0;
    const Dims& dims = prepared.inputs[prepared.at.mask].dims;
    const std::int64_t place[] = {image, head, t, s};
    std::int64_t index = 0;
    for (std::size_t i = 0; i < dims.size(); ++i)
      index = index * dims[i] + (dims[i] == 1 ? 0 : place[4 - dims.size() + i]);
    return in[prepared.at.mask][index];
  }
  double score(std::int64_t t, std::int64_t s, double scale) const {
    if (prepared.problem.causal && s > t) return -std::numeric_limits<double>::infinity();
    const std::size_t q = prepared.at.q;
    return scale * dot(in[q], t, in[q + 1], s) + mask(t, s);
  }
  // The dropout factor of a share: 0, or 1 / keep.
  double kept(std::int64_t t, std::int64_t s, double keep) const {
    if (keep == 1) return 1;
    const ReferenceView& key = in[prepared.at.mask + 1];
    const std::int64_t numbers[] = {key.integer(0), key.integer(1)};
    const auto index = static_cast<std::uint64_t>(query_index(t) * shape().keys + s);
    return stream_of_key(numbers).short_bits(index) < keep * 0x1p16 ? 1 / keep : 0;
  }
};

void reference_query(const ReferenceHead& one, const AttentionSettings& settings, std::int64_t t,
                     const std::vector<ReferenceView>& out) {
  const cpu::AttentionShape& shape = one.shape();
  constexpr double nothing = -std::numeric_limits<double>::infinity();
  ReferenceSums scores, y(shape.width);
  for (std::int64_t s = 0; s < shape.keys; ++s) scores.add(one.score(t, s, settings.scale));
  double largest = nothing, sum = 0;
  for (const double score : scores) largest = std::max(largest, score);
  if (largest == nothing) largest = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  for (std::int64_t s = 0; s < shape.keys && sum != 0; ++s) {
    const double share = std::exp(scores[s] - largest) / sum * one.kept(t, s, settings.keep);
    for (std::int64_t w = 0; w < shape.width; ++w)
      y[w] += share * one.in[2][one.at(shape.keys, s, w)];
  }
  for (std::int64_t w = 0; w < shape.width; ++w) out[0].set(one.at(shape.queries, t, w), y[w]);
  out[1].set(one.query_index(t), sum == 0 ? nothing : largest + std::log(sum));
}

// Adds what one query contributes to the gradients of k and v, and computes that of q.
void reference_query_gradient(const ReferenceHead& one, const AttentionSettings& settings,
                              std::int64_t t, const std::array<ReferenceSums*, 3>& gradients) {
  const cpu::AttentionShape& shape = one.shape();
  const double logsumexp = one.in[4][one.query_index(t)];
  if (logsumexp == -std::numeric_limits<double>::infinity()) return;
  ReferenceSums shares, flows;
  double mean = 0;
  for (std::int64_t s = 0; s < shape.keys; ++s) {
    shares.add(std::exp(one.score(t, s, settings.scale) - logsumexp));
    flows.add(one.dot(one.in[0], t, one.in[3], s) * one.kept(t, s, settings.keep));
    mean += shares.back() * flows.back();
  }
  for (std::int64_t s = 0; s < shape.keys; ++s) {
    const double share = shares[s];
    const double ds = share * (flows[s] - mean) * settings.scale;
    const double dropped = share * one.kept(t, s, settings.keep);
    for (std::int64_t w = 0; w < shape.width; ++w) {
      const std::int64_t query = one.at(shape.queries, t, w), key = one.at(shape.keys, s, w);
      (*gradients[0])[query] += ds * one.in[2][key];
      (*gradients[1])[key] += ds * one.in[1][query];
      (*gradients[2])[key] += dropped * one.in[0][query];
    }
  }
}

template <class Visit>
void for_queries(const PreparedAttention& prepared, const std::vector<ReferenceView>& in,
                 const Visit& visit) {
  const cpu::AttentionShape& shape = prepared.problem.shape;
  for (std::int64_t i = 0; i < shape.batch * shape.heads; ++i)
    for (std::int64_t t = 0; t < shape.queries; ++t)
      visit(ReferenceHead{prepared, in, i / shape.heads, i % shape.heads}, t);
}

Offer attention_reference(const Request& request) {
  const AttentionSettings settings =
      settings_of(request.as<Attention>(), request.inputs[0].dims[2]);
  return reference_offer(request, [prepared = PreparedAttention::of<Attention>(request), settings](
                                      const auto& in, const auto& out, const KernelCall&) {
    for_queries(prepared, in, [&](const ReferenceHead& one, std::int64_t t) {
      reference_query(one, settings, t, out);
    });
  });
}

Offer attention_gradient_reference(const Request& request) {
  const AttentionSettings settings =
      settings_of(request.as<AttentionGradient>(), request.inputs[1].dims[2]);
  return reference_offer(request, [prepared = PreparedAttention::of<AttentionGradient>(request),
                                   settings](const auto& in, const auto& out, const KernelCall&) {
    ReferenceSums dq(out[0].size()), dk(out[1].size()), dv = dk;
    for_queries(prepared, in, [&](const ReferenceHead& one, std::int64_t t) {
      reference_query_gradient(one, settings, t, {&dq, &dk, &dv});
    });
    store(dq, out[0]);
    store(dk, out[1]);
    store(dv, out[2]);
  });
}

constexpr Kernel attention_kernels[] = {{"tiles", offer_tiles<Attention>},
                                        {"vectors", offer_vectors<Attention>},
                                        {"reference", attention_reference}};
constexpr Kernel attention_gradient_kernels[] = {{"tiles", offer_tiles<AttentionGradient>},
                                                 {"vectors", offer_vectors<AttentionGradient>},
                                                 {"reference", attention_gradient_reference}};

}  // namespace

std::span<const Kernel> Attention::kernels() { return attention_kernels; }
std::span<const Kernel> AttentionGradient::kernels() { return attention_gradient_kernels; }

}  // namespace narrowgauge
