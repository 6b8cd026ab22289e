// SPDX-License-Identifier: Apache-2.0
// Adds to a network's graph what training needs: gradients of the scaled loss, their check, the
// update of every parameter under `applied`, loss scale, learning rate and counters. The host reads
// nothing before the step is over.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "narrowgauge/optimizer.h"

namespace narrowgauge {

inline constexpr std::string_view trainer_owner = "training";  // of a Trainer's states
inline constexpr std::string_view loss_scale_name = "training/loss_scale";
inline constexpr std::string_view good_steps_name = "training/good_steps";
inline constexpr std::string_view overflows_left_name = "training/overflows_left";
inline constexpr std::string_view rate_factor_name = "training/rate_factor";
inline constexpr std::string_view gradient_check_name = "training/gradient_health";
inline constexpr std::string_view applied_steps_name = "training/applied_steps";
inline constexpr std::string_view skipped_steps_name = "training/skipped_steps";

// The moments beside a parameter that are no rule's: its moving average (Optimizer::ema_decay), and
// the sum of gradients of a step in two parts.
inline constexpr std::string_view average_name = "average";
inline constexpr std::string_view gradient_sum_name = "gradient";
// A counter beside a parameter, see StepsTaken.
inline constexpr std::string_view own_steps_name = "own_steps";

// The name of a moment beside a parameter: "conv.weight.velocity", of a step's own
// "step/conv.weight.velocity".
std::string moment_name(std::string_view owner, std::string_view parameter, std::string_view kind);

// `forward` has the scalar output "loss", of f32 or f64, and at least one parameter that is not
// frozen. Loss scale, norm and learning rate have its format, moments that of their parameter. The
// outputs of the result are loss, reason (a StepOutcome, i64), scale, norm (of the true gradients)
// and learning_rate. A loss scale that is `automatic` is off: whoever settles the format settles it
// too (api/training/training_setup.h). The state overflows_left is there with a hysteresis above 1
// alone, and rate_factor, by which the learning rate is multiplied, for a schedule with a plateau.
//
// `taken` has the steps in which parameters were updated that were not updated in all of the
// owner's steps. Each has a counter of its own, which begins there, and by which its rule goes; all
// others go by applied_steps. One that is not updated now keeps it, and its average goes on.
using StepsTaken = std::map<std::string, std::int64_t>;
Graph make_training_graph(const Graph& forward, const Optimizer& optimizer,
                          std::string_view owner = trainer_owner, const StepsTaken& taken = {});

// A step in two parts, for the gradients of several batches or of several losses. The gradients add
// up in states beside the parameters; `owner` names these, counters and moments, so that several
// steps may share parameters.

// Whether a state is there for the time between the two parts alone.
bool is_of_parts(std::string_view owner, std::string_view state);
// Adds the gradients of the loss times the last input, "<owner>/weight", of its format. Outputs:
// those of `forward`.
Graph make_gradient_graph(const Graph& forward, const Optimizer& optimizer, std::string_view owner);
// Multiplies the sums by the input "factor". The output "scale" is what they are then times the
// true gradients.
Graph make_unscaling_graph(const Graph& forward, const Optimizer& optimizer,
                           std::string_view owner);
// Updates the parameters by the sums, which begin anew. Outputs as those of a training graph,
// without the loss.
Graph make_update_graph(const Graph& forward, const Optimizer& optimizer, std::string_view owner,
                        const StepsTaken& taken = {});

}  // namespace narrowgauge
