// SPDX-License-Identifier: Apache-2.0
#include "ops/random/distributions.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "ops/no_gradient.h"
#include "ops/random/stream.h"
#include "ops/reference.h"
#include "ops/table.h"

namespace narrowgauge {

namespace {

double draw_uniform(const RandomStream& stream, std::int64_t element, double low, double high) {
  return low + (high - low) * double{stream.uniform(static_cast<std::uint64_t>(element))};
}

double draw_normal(const RandomStream& stream, std::int64_t element, double mean, double scale) {
  return mean + scale * double{stream.normal(static_cast<std::uint64_t>(element))};
}

// Fills output 0 with draw(stream, element, first, second).
template <auto draw>
Offer offer_filled(const Request& request, double seed, double first, double second) {
  return reference_offer(request, [=, name = std::string(request.name)](
                                      const auto&, const auto& out, const KernelCall& call) {
    const RandomStream stream = stream_of_node(seed, name, call.context);
    for (std::int64_t i = 0; i < out[0].size(); ++i) out[0].set(i, draw(stream, i, first, second));
  });
}

template <class Op>
Offer offer_uniform(const Request& request) {
  const auto& op = request.as<Op>();
  return offer_filled<draw_uniform>(request, op.seed, op.low, op.high);
}

template <class Op>
Offer offer_normal(const Request& request) {
  const auto& op = request.as<Op>();
  return offer_filled<draw_normal>(request, op.seed, op.mean, op.scale);
}

template <class Op>
constexpr Kernel uniform_kernels[] = {{"reference", offer_uniform<Op>}};
template <class Op>
constexpr Kernel normal_kernels[] = {{"reference", offer_normal<Op>}};

template <class Op>
void check_bounds(const Op& op, std::string_view who) {
  require(std::isfinite(op.high - op.low) && op.low <= op.high, who,
          ": expected finite numbers low <= high, got ", op.low, " and ", op.high);
}

template <class Op>
void check_moments(const Op& op, std::string_view who) {
  require(std::isfinite(op.mean) && std::isfinite(op.scale) && op.scale >= 0, who,
          ": expected a finite mean and a scale of at least 0, got ", op.mean, " and ", op.scale);
}

TensorTypes filled_type(std::string_view who, DType dtype, const Shape& shape) {
  require(is_floating(dtype) && !is_storage_only(dtype), who,
          ": expected a floating dtype to compute with, got ", dtype);
  for (const Dim& size : shape)
    require(!size.is_known() || size.value() >= 0, who, ": sizes must not be negative, got ",
            shape);
  require(!is_known(shape) || element_count(known_dims(shape)) <= Tensor::most_elements, who, ": ",
          shape, " has more elements than a tensor can have");
  return {{dtype, shape}};
}

TensorTypes like_input(const Inference& in, DType dtype) {
  return filled_type(in.op_name(), dtype == dtype_of_input ? in.dtype(0) : dtype, in.shape(0));
}

}  // namespace

TensorTypes RandomUniform::infer(const Inference& in) const {
  check_bounds(*this, in.op_name());
  return filled_type(in.op_name(), dtype, shape);
}

TensorTypes RandomUniformLike::infer(const Inference& in) const {
  check_bounds(*this, in.op_name());
  return like_input(in, dtype);
}

TensorTypes RandomNormal::infer(const Inference& in) const {
  check_moments(*this, in.op_name());
  return filled_type(in.op_name(), dtype, shape);
}

TensorTypes RandomNormalLike::infer(const Inference& in) const {
  check_moments(*this, in.op_name());
  return like_input(in, dtype);
}

std::span<const Kernel> RandomUniform::kernels() { return uniform_kernels<RandomUniform>; }
std::span<const Kernel> RandomUniformLike::kernels() { return uniform_kernels<RandomUniformLike>; }
std::span<const Kernel> RandomNormal::kernels() { return normal_kernels<RandomNormal>; }
std::span<const Kernel> RandomNormalLike::kernels() { return normal_kernels<RandomNormalLike>; }

}  // namespace narrowgauge

NG_OPS(distributions, narrowgauge::RandomUniform, narrowgauge::RandomUniformLike,
       narrowgauge::RandomNormal, narrowgauge::RandomNormalLike)
NG_NO_GRADIENT(distributions, "random numbers", narrowgauge::RandomUniform,
               narrowgauge::RandomUniformLike, narrowgauge::RandomNormal,
               narrowgauge::RandomNormalLike)
