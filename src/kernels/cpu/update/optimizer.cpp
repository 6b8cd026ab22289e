// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/update/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/threads/parallel.h"
#include "kernels/cpu/update/stochastic_rounding.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t grain = 16384;

// Calls body(offset, count) for every strip.
template <class Body>
void for_strips(std::int64_t count, const Body& body) {
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; at += strip_length)
      body(at, std::min(strip_length, end - at));
  });
}

// Copies elements of a dtype, unless they lie there already.
void keep(ConstArray now, const Array& next, std::int64_t offset, std::int64_t count) {
  if (!next || now.data == next.data) return;
  const std::int64_t width = now.dtype == DType::f32 ? 4 : 2;
  std::copy_n(static_cast<const std::byte*>(now.data) + width * offset, width * count,
              static_cast<std::byte*>(next.data) + width * offset);
}

void keep_weight(const UpdateCommon& common, std::int64_t offset, std::int64_t count) {
  keep(common.weight, common.next_weight, offset, count);
  keep(common.compensation, common.next_compensation, offset, count);
  if (!common.narrow_weight) return;
  alignas(64) std::array<float, strip_length> buffer;
  store_strip(common.narrow_weight, offset, count,
              load_strip(common.weight, offset, count, buffer.data()));
}

template <bool Momentum, bool Nesterov = false, bool Dampened = false>
void sgd_strip(const SgdUpdate& update, const UpdateStrip& strip) {
  const float multiplier = update.common.multiplier, decay = update.common.weight_decay;
  const float rate = -update.common.learning_rate, momentum = update.momentum;
  const float fresh = update.fresh;
  const float *weight = strip.weight, *gradient = strip.gradient;
  float* next_weight = strip.next_weight;
  const auto [old_momentum, next_momentum] = strip.moments[0];
#pragma GCC ivdep
  for (std::int64_t i = 0; i < strip.count; ++i) {
    const float w = weight[i];
    float direction = std::fma(decay, w, gradient[i] * multiplier);
    if constexpr (Momentum) {
      const float new_part = Dampened ? fresh * direction : direction;
      const float m = std::fma(momentum, old_momentum[i], new_part);
      next_momentum[i] = m;
      direction = Nesterov ? std::fma(momentum, m, direction) : m;
    }
    next_weight[i] = std::fma(rate, direction, w);
  }
}

// The factors of an update that are the same for all elements, computed in double.
struct AdamFactors {
  float step_size, second_correction, coupled_decay, weight_factor, add1, add2;
};

AdamFactors factors(const AdamUpdate& update) {
  const UpdateCommon& common = update.common;
  const double correction1 = 1 - std::pow(double(update.beta1), double(update.step));
  const double correction2 = 1 - std::pow(double(update.beta2), double(update.step));
  const double rate = double(common.learning_rate), decay = double(common.weight_decay);
  return {.step_size = float(-rate / correction1),
          .second_correction = float(1 / std::sqrt(correction2)),
          .coupled_decay = update.decoupled_decay ? 0.0F : common.weight_decay,
          .weight_factor = update.decoupled_decay ? float(1 - rate * decay) : 1.0F,
          .add1 = float(1 - double(update.beta1)),
          .add2 = float(1 - double(update.beta2))};
}

template <bool Amsgrad>
void adam_strip(const AdamUpdate& update, const AdamFactors& factor, const UpdateStrip& strip) {
  const float multiplier = update.common.multiplier, epsilon = update.epsilon;
  const float beta2 = update.beta2;
  const float *weight = strip.weight, *gradient = strip.gradient;
  float* next_weight = strip.next_weight;
  const auto [old_first, next_first] = strip.moments[0];
  const auto [old_second, next_second] = strip.moments[1];
  const auto [old_largest, next_largest] = strip.moments[2];
#pragma GCC ivdep
  for (std::int64_t i = 0; i < strip.count; ++i) {
    const float w = weight[i] * factor.weight_factor;
    const float g = std::fma(factor.coupled_decay, weight[i], gradient[i] * multiplier);
    const float first = std::fma(factor.add1, g - old_first[i], old_first[i]);
    const float second = std::fma(factor.add2 * g, g, beta2 * old_second[i]);
    next_first[i] = first;
    next_second[i] = second;
    float largest = second;
    if constexpr (Amsgrad) next_largest[i] = largest = std::max(old_largest[i], second);
    const float denominator = std::fma(std::sqrt(largest), factor.second_correction, epsilon);
    next_weight[i] = std::fma(factor.step_size, first / denominator, w);
  }
}

}  // namespace

namespace {

// The buffers of a strip whose weight is narrow.
struct StripBuffers {
  alignas(64) std::array<float, strip_length> gradient, weight, next_weight, compensation;
};

// The weight that an update goes on from: with its compensation, where it has one.
const float* load_weight(const UpdateCommon& common, std::int64_t at, std::int64_t count,
                         StripBuffers& buffers) {
  const float* weight = load_strip(common.weight, at, count, buffers.weight.data());
  if (!common.compensation) return weight;
  const float* lost = load_strip(common.compensation, at, count, buffers.compensation.data());
  for (std::int64_t i = 0; i < count; ++i)
    buffers.weight[static_cast<std::size_t>(i)] = weight[i] + lost[i];
  return buffers.weight.data();
}

void store_weight(const UpdateCommon& common, std::int64_t at, std::int64_t count,
                  const float* exact, StripBuffers& buffers) {
  if (common.random) {
    store_stochastically(common.next_weight, at, count, exact, *common.random);
    return;
  }
  store_strip(common.next_weight, at, count, exact);
  if (!common.next_compensation) return;
  const float* rounded = load_strip(common.next_weight, at, count, buffers.weight.data());
  float* const lost = buffers.compensation.data();
  for (std::int64_t i = 0; i < count; ++i) lost[i] = exact[i] - rounded[i];
  store_strip(common.next_compensation, at, count, lost);
}

}  // namespace

void update_by_strips(const UpdateCommon& common, std::span<const MomentArrays> moments,
                      FunctionRef<void(const UpdateStrip& strip)> rule) {
  NG_INVARIANT(moments.size() <= most_moments);
  for_strips(common.count, [&](std::int64_t at, std::int64_t count) {
    if (!common.applied) {
      for (const MomentArrays& moment : moments) keep({moment.now}, {moment.next}, at, count);
      return keep_weight(common, at, count);
    }
    StripBuffers buffers;
    UpdateStrip strip{load_weight(common, at, count, buffers),
                      load_strip(common.gradient, at, count, buffers.gradient.data()),
                      common.next_weight
                          ? result_strip(common.next_weight, at, buffers.next_weight.data())
                          : buffers.next_weight.data(),
                      {},
                      at,
                      count};
    for (std::size_t i = 0; i < moments.size(); ++i)
      strip.moments[i] = {moments[i].now + at, moments[i].next + at};
    rule(strip);
    if (common.next_weight) store_weight(common, at, count, strip.next_weight, buffers);
    if (common.narrow_weight) store_strip(common.narrow_weight, at, count, strip.next_weight);
  });
}

void sgd_update(const SgdUpdate& update) {
  const bool momentum = update.momentum != 0;
  NG_INVARIANT(!momentum || (update.velocity.now && update.velocity.next));
  NG_INVARIANT(!update.nesterov || update.fresh == 1);
  const auto strip_update = !momentum           ? sgd_strip<false>
                            : update.nesterov   ? sgd_strip<true, true>
                            : update.fresh != 1 ? sgd_strip<true, false, true>
                                                : sgd_strip<true>;
  update_by_strips(update.common, std::span(&update.velocity, momentum ? 1 : 0),
                   [&](const UpdateStrip& strip) { strip_update(update, strip); });
}

void adam_update(const AdamUpdate& update) {
  const UpdateCommon& common = update.common;
  NG_INVARIANT(!common.applied || update.step >= 1);
  const AdamFactors factor = common.applied ? factors(update) : AdamFactors{};
  const bool amsgrad = update.largest_second_moment.next != nullptr;
  const MomentArrays moments[] = {update.first_moment, update.second_moment,
                                  update.largest_second_moment};
  const auto strip_update = amsgrad ? adam_strip<true> : adam_strip<false>;
  update_by_strips(common, std::span(moments).first(amsgrad ? 3 : 2),
                   [&](const UpdateStrip& strip) { strip_update(update, factor, strip); });
}

}  // namespace narrowgauge::cpu
