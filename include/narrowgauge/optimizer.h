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

// Lowers the learning rate when a metric no longer gets better, as PyTorch's ReduceLROnPlateau.
struct NG_API PlateauSettings {
  // What is better, a lower value or a higher one.
  enum class Mode : std::uint8_t { min, max };
  // What the threshold is: a share of the best value so far, or a difference from it.
  enum class Threshold : std::uint8_t { relative, absolute };
  Mode mode = Mode::min;       // of the metric
  double factor = 0.1;         // of the rate, each time it is lowered: above 0, below 1
  std::int64_t patience = 10;  // as many values in a row that are no better change nothing yet
  double threshold = 1e-4;     // a value is better by more than this: 0 or more
  Threshold threshold_kind = Threshold::relative;  // of the threshold
  std::int64_t cooldown = 0;                       // values after a lowering that are not counted
  double minimum = 0;  // of the rate, as a share of what it would be without lowering
};

// The learning rate as a function of the applied steps; skipped steps do not count.
struct NG_API Schedule {
  std::string name = "constant";  // one of schedule_names()
  std::int64_t warmup_steps = 0;  // linear from 0; none for one_cycle, which grows by itself
  // cosine, linear, polynomial, one_cycle: reach `minimum` here.
  std::int64_t total_steps = 0;
  // step, exponential: times `factor` every so many steps. inverse_square_root: the rate halves in
  // three times as many. cosine_restarts: the length of the first cycle.
  std::int64_t step_every = 0;
  double factor = 0.1;            // step, exponential: above 0, at most 1
  double minimum = 0;             // as a share of the base rate
  double power = 1;               // polynomial: the exponent, above 0
  double rising_share = 0.3;      // one_cycle: of the steps, from 0 to below 1
  double start = 0.04;            // one_cycle: the first rate, as a share of the base rate
  std::int64_t cycle_growth = 1;  // cosine_restarts: each cycle is so many times the one before
  // If given, the state `training/rate_factor` is one more factor of the rate.
  std::optional<PlateauSettings> plateau{};
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
  // So many overflows are needed before the first backoff. The count begins anew when
  // growth_interval good steps in a row are reached, as in Megatron-LM, and not with a good step.
  std::int64_t hysteresis = 1;
  // Whether a loss that is not finite counts as an overflow, as in PyTorch. Otherwise it leaves the
  // scale alone: no scale would make it finite.
  bool counts_loss = false;
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
  double clip_norm = 0;          // > 0: gradients are scaled down to this norm, all together
  double clip_value = 0;         // > 0: each element is limited to +-this; not beside clip_norm
  Schedule schedule{};           // of the learning rate; constant by default
  PrecisionRequest precision{};  // in which formats the step computes; plain f32 by default
  LossScale loss_scale{};        // by default dynamic for f16 and off otherwise
  // Groups of parameters with settings of their own; the last one that matches a parameter counts.
  std::vector<ParameterGroup> groups{};
  // Whether the rule's weight decay is for parameters of at most one axis too: biases, and the
  // scale and shift of normalizations. A group's decay is for all that match it.
  bool decays_vectors = true;
  // > 0, below 1: an exponential moving average of each trained parameter is kept beside it, and
  // moves by 1 - ema_decay of the way at each applied step; at the first it becomes the parameter.
  // As PyTorch's AveragedModel with get_ema_multi_avg_fn(). Evaluations, and the weights of
  // checkpoints, are then the averages.
  double ema_decay = 0;
};

// Each of these has the usual numbers of PyTorch for what it does not take; Lion, LAMB and LARS,
// which PyTorch lacks, those of timm. `rule.set()` changes any.

// Stochastic gradient descent with momentum.
NG_API Optimizer sgd(double learning_rate, double momentum = 0.9, bool nesterov = false);
// Adam (Kingma and Ba 2015).
NG_API Optimizer adam(double learning_rate = 1e-3);
// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
NG_API Optimizer adamw(double learning_rate = 1e-3, double weight_decay = 0.01);
// Steps over the root of summed squares of gradients (Duchi, Hazan, Singer 2011).
NG_API Optimizer adagrad(double learning_rate = 1e-2);
// Adam with Nesterov momentum (Dozat 2016).
NG_API Optimizer nadam(double learning_rate = 2e-3);
// Adam whose first steps are rectified (Liu et al. 2020).
NG_API Optimizer radam(double learning_rate = 1e-3);
// Steps over the root of mean squares of gradients (Hinton 2012).
NG_API Optimizer rmsprop(double learning_rate = 1e-2);
// Steps of equal size along the signs of averaged gradients (Chen et al. 2023).
NG_API Optimizer lion(double learning_rate = 1e-4, double weight_decay = 0);
// Adam with a rate for each weight by the size of its values (You et al. 2020).
NG_API Optimizer lamb(double learning_rate = 1e-3, double weight_decay = 0.01);
// Momentum with a rate for each weight by the size of its values (You, Gitman, Ginsburg 2017). Only
// with weight decay or `always_adapt` is it more than sgd().
NG_API Optimizer lars(double learning_rate = 1.0, double momentum = 0.9,
                      double weight_decay = 1e-4);
// Orthogonal steps for matrices (Jordan et al. 2024), AdamW for all other weights, with one
// learning rate and weight decay for both (Liu et al. 2025).
NG_API Optimizer muon(double learning_rate = 1e-3, double weight_decay = 0.1);
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
