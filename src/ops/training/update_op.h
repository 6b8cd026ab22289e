// SPDX-License-Identifier: Apache-2.0
// What the ops that update a weight have in common. Their ports lie so: weight, gradient, the
// moments, learning_rate, multiplier, applied, applied_steps where the rule asks for it, and
// compensation and random_key; the results are next_weight, a next_<moment> for each moment,
// narrow_weight and next_compensation.
//
// A weight may be f16 or bf16: it is then updated in f32 and rounded, with a random_key (RandomKey)
// stochastically, with a compensation as UpdateCommon says, else to nearest.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/cpu/update/optimizer.h"
#include "narrowgauge/op_record.h"
#include "ops/reference.h"

namespace narrowgauge {

// Throw UsageError beginning with `who`: f32, in which updates compute, would make the number 0 or
// infinite; the number is no share.
void require_size(std::string_view who, std::string_view what, double value);
void require_share(std::string_view who, std::string_view what, double value);

// Throws UsageError, beginning with `who`, for numbers that Adam and its kin cannot use.
struct AdamNumbers {
  double beta1, beta2, epsilon, weight_decay;
};
void check_adam(std::string_view who, const AdamNumbers& numbers);

// Throws UsageError, beginning with `who`, for numbers that momentum cannot use.
struct MomentumNumbers {
  double momentum, dampening;
  bool nesterov;
};
void check_momentum(std::string_view who, const MomentumNumbers& numbers);
// The share of a gradient that goes into the velocity; the first step is 1.
inline double fresh_share(double dampening, double step) { return step == 1 ? 1 : 1 - dampening; }

// Checks shapes and gives the types of all results: the weight's, those of the moments, `narrow`
// for the narrow copy, and beside a compensation that of next_compensation.
TensorTypes infer_update(const Inference& in, DType narrow);

// Checks the two optional ports that say how a weight is rounded.
void check_rounding(const Inference& in, int compensation, int random_key);
// An element of a weight in f16 or bf16: by the random key, to nearest without one.
double rounded_weight(double exact, std::int64_t element, DType dtype, const ReferenceView* key);
// Optional ports at the end, which neither a request nor a call need have; -1 is none.
bool is_given(const Request& request, int input);
View given(const KernelCall& call, int input);

// What a kernel of a rule computes from: the arrays, and of each moment in use the old and the new
// values. `step` counts applied steps, this one included; 1 without the port applied_steps.
struct UpdateCall {
  cpu::UpdateCommon common;
  std::span<const cpu::MomentArrays> moments;
  std::int64_t step = 1;
  std::byte* workspace = nullptr;  // of as many bytes as the offer asks for
};
using UpdateKernel = std::function<void(UpdateCall& call)>;

// Offers a kernel over dense arrays, with weight, gradient and narrow copy in f32, f16 or bf16 and
// moments in f32. `in_use` says for each moment of the ports whether the rule keeps it.
Offer offer_update(const Request& request, std::span<const bool> in_use, UpdateKernel kernel);

// What the rule makes of one element in f64, when the step is applied. Moments that are not in use
// are 0 before, and stay what the rule makes of them.
struct UpdateElement {
  double weight = 0, gradient = 0;  // the gradient is the true one
  std::array<double, cpu::most_moments> moments{};
  double learning_rate = 0;
  double step = 1;  // applied steps, this one included
};
using UpdateFormula = std::function<void(UpdateElement& element)>;

// The reference kernel of a rule.
Offer reference_update(const Request& request, UpdateFormula formula);

// All elements in f64, for a rule that looks at the whole weight before it changes one.
struct UpdateArrays {
  std::vector<double> weight, gradient;
  std::array<std::vector<double>, cpu::most_moments> moments;
  double learning_rate = 0;
  double step = 1;  // applied steps, this one included
};
using ArraysFormula = std::function<void(UpdateArrays& arrays)>;

// The reference kernel of such a rule.
Offer reference_update_of_arrays(const Request& request, ArraysFormula formula);

}  // namespace narrowgauge
