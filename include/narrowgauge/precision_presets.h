// SPDX-License-Identifier: Apache-2.0
// The precision settings of other frameworks, by their names there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/optimizer.h"

namespace narrowgauge {

// What apex.amp.initialize() takes beside its opt_level; nothing: as the level has it.
struct NG_API ApexOptions {
  std::optional<bool> keep_batchnorm_fp32{};  // parameters of BatchNormalization stay f32: O2, O3
  std::optional<bool> master_weights{};       // O2, O3
  std::optional<LossScale> loss_scale{};      // dynamic, fixed or off
};

// Gives an optimizer the precision and loss scale of a level of apex.amp (NVIDIA/apex until its
// removal there, apex/amp/frontend.py):
//
//   level  what is f16                               BatchNormalization f32  masters  loss scale
//   O0     nothing                                   -                       -        1
//   O1     op by op, after apex's lists              -                       -        dynamic
//   O2     the network and its parameters            yes                     yes      dynamic
//   O3     the network and its parameters            no                      no       1
//
// Loss and outputs are f32 in all of them. BatchNormalization computes its statistics in f32 and
// keeps its running statistics so. A dynamic scale begins at 2^16, doubles after 2000 good steps
// and ends at 2^24, without a minimum. O3 rounds its weights to nearest, as f16 arithmetic does.
// Throws UsageError for another level and for options that apex refuses or that the level cannot
// follow: O0 and O1 take neither keep_batchnorm_fp32 nor master_weights.
NG_API void set_apex_level(Optimizer& optimizer, std::string_view level,
                           const ApexOptions& options = {});
NG_API std::vector<std::string> apex_levels();  // "O0", ..., "O3"

// Gives an optimizer the precision of a policy of Keras: "float32", "mixed_bfloat16" or
// "mixed_float16". All layers of a mixed policy compute in the narrow format, variables and loss
// are f32, and mixed_float16 has the dynamic loss scale of Keras's LossScaleOptimizer: 2^15 at
// first, doubled after 2000 good steps, without limits. A last softmax that stands in the network
// after all parameters is f32, as Keras's guide advises. Throws UsageError for another name.
NG_API void set_keras_policy(Optimizer& optimizer, std::string_view policy);
NG_API std::vector<std::string> keras_policies();  // the three names

// The loss scale that a framework has with a policy of PrecisionRequest: apex_lists, apex_cast and
// mixed_float16. For others it is automatic.
NG_API LossScale usual_loss_scale(std::string_view policy);

}  // namespace narrowgauge
