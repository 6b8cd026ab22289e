// SPDX-License-Identifier: Apache-2.0
// Weight updates in one pass over memory: reads gradient, weight and moments once, and writes the
// new ones and the narrow copy of the weight once. Everything is computed in f32, also where the
// weight is kept in f16 or bf16 and rounded on storing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/random.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {

// What every update has. New values may overwrite the old ones. If `applied` is false the new
// values are the old ones, and the narrow copy is of the old weight.
//
// A weight in f16 or bf16 is rounded to nearest, or, with a stream of random numbers, up with the
// probability of the remainder, element i by the number i. With a compensation, in the weight's
// format, the update goes on from weight + compensation, and the new compensation is what the new
// weight lacks of the exact result: Kahan's summation (Zamirai et al., "Revisiting BFloat16
// Training", 2020).
struct UpdateCommon {
  std::int64_t count = 0;
  ConstArray weight;
  ConstArray gradient;
  Array next_weight;        // in the format of the weight
  Array narrow_weight{};    // may be absent
  float multiplier = 1.0F;  // of the gradient: 1 / loss scale, times the clipping factor
  float learning_rate = 0.0F;
  float weight_decay = 0.0F;
  bool applied = true;
  ConstArray compensation{};                // may be absent
  Array next_compensation{};                // goes with it
  std::optional<RandomStream> random = {};  // for a narrow weight without compensation
};

// A moment of the weight: its values before and after the step, which may be the same memory.
struct MomentArrays {
  const float* now = nullptr;
  float* next = nullptr;
};

// One strip of an update that is applied, in f32: `count` weights from `offset` on, their gradients
// and moments.
constexpr std::size_t most_moments = 4;
struct UpdateStrip {
  const float *weight, *gradient;
  float* next_weight;
  std::array<MomentArrays, most_moments> moments;
  std::int64_t offset, count;
};

// Updates strip by strip, on all threads: `rule` computes the new weights and moments of a strip,
// if the step is applied. Without a next_weight it computes moments alone.
void update_by_strips(const UpdateCommon& common, std::span<const MomentArrays> moments,
                      FunctionRef<void(const UpdateStrip& strip)> rule);

// g = gradient * multiplier + weight_decay * weight; m = momentum * m + fresh * g; weight -=
// learning_rate * (nesterov ? g + momentum * m : m), as in PyTorch's SGD, where fresh is 1 -
// dampening after the first step.
struct SgdUpdate {
  UpdateCommon common;
  float momentum = 0.0F;  // 0: the velocity is not touched and may be null
  bool nesterov = false;
  float fresh = 1.0F;  // with nesterov 1
  MomentArrays velocity{};
};
void sgd_update(const SgdUpdate& update);

// Kingma, Ba, "Adam", 2015; with `decoupled_decay` Loshchilov, Hutter, "Decoupled weight decay
// regularization", 2019 (AdamW). Epsilon is added after bias correction, as PyTorch does. With a
// largest second moment Reddi, Kale, Kumar, "On the convergence of Adam and beyond", 2018
// (AMSGrad).
struct AdamUpdate {
  UpdateCommon common;
  float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;
  std::int64_t step = 1;  // applied steps, this one included
  bool decoupled_decay = false;
  MomentArrays first_moment{}, second_moment{};
  MomentArrays largest_second_moment{};  // null without AMSGrad
};
void adam_update(const AdamUpdate& update);

}  // namespace narrowgauge::cpu
