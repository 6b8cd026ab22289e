// SPDX-License-Identifier: Apache-2.0
// How a network is trained: update rule, learning rate, clipping, precision and loss scale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/precision.h"
#include "narrowgauge/update_rule.h"

namespace narrowgauge {

// The learning rate as a function of the applied steps; skipped steps do not count.
struct NG_API Schedule {
  std::string name = "constant";  // one of schedule_names()
  std::int64_t warmup_steps = 0;  // linear from 0
  std::int64_t total_steps = 0;   // cosine: reaches `minimum` here
  std::int64_t step_every = 0;    // step, exponential: times `factor` every so many steps
  double factor = 0.1;            // step, exponential: above 0, at most 1
  double minimum = 0;             // as a share of the base rate
};

NG_API std::vector<std::string> schedule_names();  // "constant", "cosine", ...

// f16 gradients are scaled so that small ones do not vanish; bf16 has f32's range and needs no
// scale. A scale lies between 2^-126 and 2^126: it and its inverse are then normal f32 numbers. A
// scale that would grow beyond that stays; beyond `maximum` it becomes `maximum`.
struct NG_API LossScale {
  // automatic: dynamic for f16, off otherwise.
  enum class Kind : std::uint8_t { automatic, dynamic, fixed, off };
  Kind kind = Kind::automatic;          // see Kind
  double initial = 65536;               // also the value of a fixed scale
  double growth = 2;                    // the factor after growth_interval steps without overflow
  double backoff = 0.5;                 // the factor after an overflow
  std::int64_t growth_interval = 2000;  // applied steps in a row
  double minimum = 1, maximum = 16777216;  // of a dynamic scale; maximum may be infinite
};
// "dynamic", "off", or the number of a fixed scale; throws UsageError.
NG_API LossScale parse_loss_scale(std::string_view text);

// Settings of the parameters whose names match a pattern, where they are not those of the others.
struct NG_API ParameterGroup {
  std::string pattern;                   // of names, with * for any characters and ? for one
  double rate = 1;                       // times the learning rate
  std::optional<double> weight_decay{};  // in place of the rule's
  bool frozen = false;  // the parameters keep their values, and no gradient is computed for them
};

// How a Trainer updates the weights.
struct NG_API Optimizer {
  UpdateRule rule{};             // with its momentum, weight decay and the like
  double learning_rate = 0.01;   // the base rate, which the schedule changes
  double clip_norm = 0;          // > 0: gradients are scaled down to this norm
  Schedule schedule{};           // of the learning rate; constant by default
  PrecisionRequest precision{};  // in which formats the step computes; plain f32 by default
  LossScale loss_scale{};        // by default dynamic for f16 and off otherwise
  // Of the groups that match a parameter the last counts.
  std::vector<ParameterGroup> groups{};
  // Whether the rule's weight decay is for parameters of at most one axis too: biases, and the
  // scale and shift of normalizations. A group's decay is for all that match it.
  bool decays_vectors = true;
};

// Stochastic gradient descent with momentum.
NG_API Optimizer sgd(double learning_rate, double momentum = 0.9, bool nesterov = false);
// Adam (Kingma and Ba 2015).
NG_API Optimizer adam(double learning_rate = 1e-3);
// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
NG_API Optimizer adamw(double learning_rate = 1e-3, double weight_decay = 0.01);
// One of optimizer_names() with its usual numbers; throws UsageError for another name.
NG_API Optimizer parse_optimizer(std::string_view name);
NG_API std::vector<std::string> optimizer_names();  // "adam", "adamw", ...

// Throws UsageError naming the first number that makes no sense or that f32 cannot hold. A Trainer
// calls this first.
NG_API void check(const Optimizer& optimizer);

// Makes the network train in `narrow` where its ops allow it: with f32 master weights and, for f16,
// a dynamic loss scale. Throws UsageError for formats other than f16 and bf16.
NG_API void enable_mixed_precision(Optimizer& optimizer, DType narrow = DType::f16);

// NARROWGAUGE_AMP=off|f16|bf16 or NARROWGAUGE_AUTO_MIXED_PRECISION=0|1|f16|bf16 (1 is f16) switches
// mixed precision on if the program did not. With NARROWGAUGE_AMP=auto a Trainer measures which
// format is fastest.
NG_API void enable_mixed_precision_from_environment(Optimizer& optimizer);

}  // namespace narrowgauge
