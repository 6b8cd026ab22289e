// SPDX-License-Identifier: Apache-2.0
#include "ops/training/loss_scale.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/cpu/update/gradient_health.h"
#include "ops/no_gradient.h"
#include "ops/reference.h"
#include "ops/shape/axis.h"
#include "ops/table.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge {

std::string_view name(StepOutcome outcome) {
  constexpr std::array<std::string_view, 4> names{"applied", "gradient overflow",
                                                  "loss is not finite", "gradient is not finite"};
  return names.at(static_cast<std::size_t>(outcome));
}

namespace {

void require_scalars(const Inference& in, int count) {
  for (int i = 0; i < count; ++i)
    require(!in.has(i) || in.shape(i).empty(), in.op_name(), ": expected a scalar as input ", i,
            ", got ", in.type(i));
}

}  // namespace

TensorTypes GradientHealth::infer(const Inference& in) const {
  require_scalars(in, 1);
  for (int i = 1; i < in.count(); ++i)
    require(is_floating(in.dtype(i)), "GradientHealth: expected gradients of float types, got ",
            in.type(i));
  return {{DType::boolean, {}}, in.type(0), {DType::i64, {}}};
}

TensorTypes LossScaleUpdate::infer(const Inference& in) const {
  require_scalars(in, in.count());
  require(growth_interval >= 1, "LossScaleUpdate: growth_interval must be at least 1, got ",
          growth_interval);
  require(growth > 1 && backoff > 0 && backoff < 1,
          "LossScaleUpdate: growth must be above 1 and "
          "backoff between 0 and 1, got ",
          growth, " and ", backoff);
  require(minimum > 0 && minimum <= maximum,
          "LossScaleUpdate: expected 0 < minimum <= maximum, got ", minimum, " and ", maximum);
  require(hysteresis >= 1, "LossScaleUpdate: hysteresis must be at least 1, got ", hysteresis);
  require(in.has(6) == (hysteresis > 1),
          "LossScaleUpdate: overflows_left goes with a hysteresis above 1, got ", hysteresis);
  const TensorType count{DType::i64, {}}, flag{DType::boolean, {}};
  return {in.type(0), count, count, count, flag, count, count};
}

TensorTypes ClipMultiplier::infer(const Inference& in) const {
  require_scalars(in, 2);
  require(limit >= 0, "ClipMultiplier: limit must not be negative, got ", limit);
  return {in.type(0)};
}

namespace {

struct Step {
  double scale;
  std::int64_t good, applied, skipped, overflows_left;
};

StepOutcome advance(const LossScaleUpdate& op, bool finite, bool loss_finite, Step& step) {
  const bool applied = finite && loss_finite;
  ++(applied ? step.applied : step.skipped);
  if (!loss_finite && !op.counts_loss) return StepOutcome::loss_not_finite;
  if (!applied) {
    const bool lowest = step.scale <= op.minimum;
    step.good = 0;
    step.overflows_left = std::max<std::int64_t>(step.overflows_left - 1, 0);
    if (op.dynamic && step.overflows_left == 0)
      step.scale = std::max(step.scale * op.backoff, op.minimum);
    if (!loss_finite) return StepOutcome::loss_not_finite;
    return lowest ? StepOutcome::gradient_not_finite : StepOutcome::gradient_overflow;
  }
  if (op.dynamic && ++step.good >= op.growth_interval) {
    constexpr double largest = 0x1p126;  // whose inverse is a normal number of f32
    const double grown = std::min(step.scale * op.growth, std::max(step.scale, op.maximum));
    step.good = 0;
    step.overflows_left = op.hysteresis;
    if (grown <= largest) step.scale = grown;
  }
  return StepOutcome::applied;
}

Offer offer_scale_update(const Request& request) {
  const auto op = request.as<LossScaleUpdate>();
  Offer offer = reference_offer(request, [op](const auto& in, const auto& out, const KernelCall&) {
    const bool counts_down = in.size() > 6 && in[6].present();
    Step step{in[0][0], in[1].integer(0), in[2].integer(0), in[3].integer(0),
              counts_down ? in[6].integer(0) : 1};
    const StepOutcome outcome = advance(op, in[4][0] != 0, in[5][0] != 0, step);
    out[0].set(0, step.scale);
    out[1].set_whole(0, step.good);
    out[2].set_whole(0, step.applied);
    out[3].set_whole(0, step.skipped);
    out[4].set(0, outcome == StepOutcome::applied ? 1 : 0);
    out[5].set_whole(0, static_cast<std::int64_t>(outcome));
    out[6].set_whole(0, step.overflows_left);
  });
  offer.in_place = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  if (op.hysteresis > 1) offer.in_place.push_back({6, 6});
  return offer;
}

Offer offer_multiplier(const Request& request) {
  const double limit = request.as<ClipMultiplier>().limit;
  return reference_offer(request, [limit](const auto& in, const auto& out, const KernelCall&) {
    const double norm = in[0][0], scale = in[1][0];
    const double share = limit > 0 ? limit / (norm + 1e-6) : 1;
    out[0].set(0, std::min(share, 1.0) / scale);
  });
}

void store_health(const cpu::GradientHealth& health, bool bounds_norm,
                  std::span<const View> outputs) {
  const auto norm = static_cast<float>(std::sqrt(health.sum_of_squares));
  if (outputs[0].data)
    *outputs[0].as<bool>() = health.finite && (!bounds_norm || std::isfinite(norm));
  if (outputs[1].data) *outputs[1].as<float>() = norm;
  if (outputs[2].data) *outputs[2].as<std::int64_t>() = health.first_not_finite;
}

Offer offer_health(const Request& request) {
  if (request.inputs[0].dtype != DType::f32)
    return Offer::decline(concat("a scale of ", request.inputs[0].dtype));
  std::vector<cpu::GradientBuffer> gradients;
  for (const Operand& gradient : request.inputs.subspan(1)) {
    const DType dtype = gradient.dtype;
    if (!is_f32_or_narrow(dtype)) return Offer::decline(concat("a gradient of ", dtype));
    if (!is_dense(gradient)) return Offer::decline("a gradient with gaps");
    gradients.push_back({{nullptr, dtype}, element_count(gradient.dims)});
  }
  Offer offer;
  offer.implementation = "rows";
  offer.workspace = cpu::gradient_health_workspace(gradients);
  offer.run = [gradients,
               bounds_norm = request.as<GradientHealth>().bounds_norm](const KernelCall& call) {
    std::vector<cpu::GradientBuffer> buffers = gradients;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      buffers[i].array.data = call.inputs[i + 1].data;
    const double scale = static_cast<double>(*call.inputs[0].as<const float>());
    store_health(gradient_health(buffers, 1 / scale, call.workspace), bounds_norm, call.outputs);
  };
  return offer;
}

Offer health_reference(const Request& request) {
  const bool bounds_norm = request.as<GradientHealth>().bounds_norm;
  return reference_offer(request, [bounds_norm](const auto& in, const auto& out,
                                                const KernelCall&) {
    double sum = 0;
    std::int64_t first = -1;
    for (std::size_t g = 1; g < in.size(); ++g)
      for (std::int64_t i = 0; i < in[g].size(); ++i) {
        const double value = in[g][i];
        sum += value * value;
        if (first < 0 && !std::isfinite(value)) first = static_cast<std::int64_t>(g) - 1;
      }
    const double norm = std::sqrt(sum) / in[0][0];
    const bool in_range = out[1].dtype() == DType::f64 ? std::isfinite(norm)
                                                       : std::isfinite(static_cast<float>(norm));
    out[0].set(0, first < 0 && (in_range || !bounds_norm) ? 1 : 0);
    out[1].set(0, norm);
    out[2].set_whole(0, first);
  });
}

constexpr Kernel health_kernels[] = {{"rows", offer_health}, {"reference", health_reference}};
constexpr Kernel scale_kernels[] = {{"reference", offer_scale_update}};
constexpr Kernel multiplier_kernels[] = {{"reference", offer_multiplier}};

}  // namespace

std::span<const Kernel> GradientHealth::kernels() { return health_kernels; }
std::span<const Kernel> LossScaleUpdate::kernels() { return scale_kernels; }
std::span<const Kernel> ClipMultiplier::kernels() { return multiplier_kernels; }

}  // namespace narrowgauge

NG_OPS(loss_scale, narrowgauge::GradientHealth, narrowgauge::LossScaleUpdate,
       narrowgauge::ClipMultiplier)
NG_NO_GRADIENT(loss_scale, "update of weights", narrowgauge::GradientHealth,
               narrowgauge::LossScaleUpdate, narrowgauge::ClipMultiplier)
