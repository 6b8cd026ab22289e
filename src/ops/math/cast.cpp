// SPDX-License-Identifier: Apache-2.0
#include "ops/math/cast.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/parallel.h"
#include "kernels/cpu/core/convert.h"
#include "narrowgauge/graph.h"
#include "ops/elementwise/strip_program.h"
#include "ops/reference.h"
#include "ops/table.h"
#include "tensor/dtype_sets.h"
#include "tensor/values.h"

namespace narrowgauge {

namespace {

bool same_dense_layout(const Operand& a, const Operand& b) {
  if (!(a.dims == b.dims && a.storage == b.storage && a.strides == b.strides)) return false;
  return !a.storage.blocks.empty() || a.strides == strides_of(a.dims, a.storage);
}

Offer offer_view(const Request& request) {
  const Operand& x = request.inputs[0];
  if (!same_dense_layout(x, request.outputs[0]))
    return Offer::decline("input and output lie differently in memory");
  Offer offer;
  offer.implementation = "view";
  offer.aliases = {{0, 0}};
  offer.run = [](const KernelCall&) {};
  return offer;
}

Offer offer_copy_reference(const Request& request) {
  return reference_offer(request, [](const auto& in, const auto& out, const KernelCall&) {
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].copy(i, in[0], i);
  });
}

Offer offer_copy_strips(const Request& request) {
  StripProgram program;
  program.input_count = 1;
  program.outputs = {0};
  return offer_strip_program(request, std::move(program));
}

constexpr Kernel identity_list[] = {
    {"view", offer_view}, {"strips", offer_copy_strips}, {"reference", offer_copy_reference}};

void narrow_counting(const float* in, DType to, void* out, std::int64_t count,
                     std::int64_t* flushed) {
  std::int64_t zeros = 0;
  cpu::narrow_row(in, to, out, count, flushed ? &zeros : nullptr);
  if (zeros != 0) std::atomic_ref(*flushed).fetch_add(zeros, std::memory_order_relaxed);
}

// Casts to powers of two, which strips do not compute.
Offer offer_powers(const Request& request) {
  const Operand &x = request.inputs[0], &y = request.outputs[0];
  const bool read = is_f32_or_narrow(x.dtype);
  if (!read || y.dtype != DType::f8e8m0)
    return Offer::decline(concat(x.dtype, " to ", y.dtype, ", not to powers of two"));
  if (!same_dense_layout(x, y)) return Offer::decline("input and output lie differently in memory");
  const auto& op = request.as<Cast>();
  Offer offer;
  offer.run = [from = x.dtype, rounding = op.power_rounding(), saturate = op.saturate != 0,
               count = stored_elements(x.dims, x.storage)](const KernelCall& call) {
    parallel_for(count, 8192, [&](std::int64_t begin, std::int64_t end) {
      constexpr std::int64_t most = 512;
      alignas(64) float wide[most];
      auto* const powers = call.outputs[0].as<f8e8m0>();
      for (; begin < end; begin += most) {
        const std::int64_t length = std::min(most, end - begin);
        cpu::widen_row(from, call.inputs[0].as<std::byte>() + bytes_for(begin, from), wide, length);
        for (std::int64_t i = 0; i < length; ++i)
          powers[begin + i] = narrow_to_power(wide[i], rounding, saturate);
      }
    });
  };
  return offer;
}

// Casts whole tensors from and to formats that strips do not compute in.
Offer offer_conversion(const Request& request) {
  const Operand& x = request.inputs[0];
  const Operand& y = request.outputs[0];
  if (!x.storage.encoding.empty()) return Offer::decline(concat("storage ", x.storage));
  if (!same_dense_layout(x, y)) return Offer::decline("input and output lie differently in memory");
  const bool wraps = !is_floating(x.dtype) && is_integer(y.dtype);
  if (!wraps && (is_integer(y.dtype) || bits(y.dtype) == 8))
    return Offer::decline("not a plain change of format");
  Offer offer;
  offer.run = [wraps, from = x.dtype, to = y.dtype,
               count = stored_elements(x.dims, x.storage)](const KernelCall& call) {
    constexpr std::int64_t piece = 8192;  // a whole number of bytes in every dtype
    parallel_for(count, piece, [&](std::int64_t begin, std::int64_t end) {
      const auto* source = call.inputs[0].as<std::byte>() + bytes_for(begin, from);
      auto* target = call.outputs[0].as<std::byte>() + bytes_for(begin, to);
      if (wraps)
        wrap_elements(from, source, to, target, end - begin);
      else if (to == DType::f32)
        cpu::widen_row(from, source, reinterpret_cast<float*>(target), end - begin);
      else if (from == DType::f32)
        narrow_counting(reinterpret_cast<const float*>(source), to, target, end - begin,
                        call.flushed_at(0));
      else
        convert_elements(from, source, to, target, end - begin);
    });
  };
  return offer;
}

Offer offer_cast_strips(const Request& request) { return elementwise_kernels()[0].offer(request); }
Offer offer_cast_reference(const Request& request) {
  return elementwise_kernels()[1].offer(request);
}

constexpr Kernel cast_list[] = {{"strips", offer_cast_strips},
                                {"powers", offer_powers},
                                {"convert", offer_conversion},
                                {"reference", offer_cast_reference}};

}  // namespace

std::span<const Kernel> Identity::kernels() { return identity_list; }

std::span<const Kernel> Cast::kernels() { return cast_list; }

PowerRounding Cast::power_rounding() const {
  if (round_mode == "nearest") return PowerRounding::nearest;
  return round_mode == "down" ? PowerRounding::down : PowerRounding::up;
}

TensorTypes Cast::infer(const Inference& in) const {
  require(round_mode == "up" || round_mode == "down" || round_mode == "nearest",
          "Cast: round_mode must be up, down or nearest, got '", round_mode, "'");
  return {{to, in.shape(0)}};
}

std::optional<Shape> Cast::numbers(const Inference& in) const {
  const auto fits = [](const Dim& number) {
    return !number.is_known() || static_cast<std::int32_t>(number.value()) == number.value();
  };
  if (!in.numbers(0) || (to != DType::i64 && to != DType::i32)) return {};
  if (to == DType::i32 && !std::ranges::all_of(*in.numbers(0), fits)) return {};
  return *in.numbers(0);
}

Elementwise Cast::elementwise() { return make_elementwise<Cast, 1>("(T x)", "x"); }

// The gradient treats rounding as the identity.
Values Cast::gradient(Gradient& g) const {
  if (!is_floating(to)) return {absent};
  return {g.add(Cast{.to = g.type(g.input(0)).dtype}, {g.output_gradient()})};
}

}  // namespace narrowgauge

NG_OPS(cast, narrowgauge::Identity, narrowgauge::Cast)
