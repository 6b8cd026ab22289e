// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/precision_presets.h"

#include <algorithm>
#include <limits>

namespace narrowgauge {

namespace {

constexpr double least_scale = 0x1p-126;  // stands for no minimum; see LossScale

// A row of the table in apex/amp/frontend.py.
struct ApexLevel {
  std::string_view name;
  DType narrow;
  std::string_view policy;  // of what is f16
  bool casts_parameters, keeps_batch_norm, master_weights;
  LossScale::Kind loss_scale;
};

constexpr ApexLevel levels[]{
    {"O0", DType::f32, "lists", false, true, true, LossScale::Kind::off},
    {"O1", DType::f16, "apex_lists", false, true, true, LossScale::Kind::dynamic},
    {"O2", DType::f16, "apex_cast", true, true, true, LossScale::Kind::dynamic},
    {"O3", DType::f16, "apex_cast", true, false, false, LossScale::Kind::off}};

const ApexLevel& level_of(std::string_view name) {
  const auto* const found = std::ranges::find(levels, name, &ApexLevel::name);
  require(found != std::end(levels), "apex: expected a level O0, O1, O2 or O3, got '", name, '\'');
  return *found;
}

void check_options(const ApexLevel& level, const ApexOptions& options) {
  if (level.casts_parameters) return;
  const std::string_view why = level.narrow == DType::f32 ? ": all of it is f32 already"
                                                          : ": its parameters are f32 as they are";
  require(!options.keep_batchnorm_fp32, "apex: ", level.name, " takes no keep_batchnorm_fp32", why);
  require(!options.master_weights, "apex: ", level.name, " takes no master_weights", why);
}

}  // namespace

void set_apex_level(Optimizer& optimizer, std::string_view name, const ApexOptions& options) {
  const ApexLevel& level = level_of(name);
  check_options(level, options);
  PrecisionRequest& precision = optimizer.precision;
  precision.narrow = level.narrow;
  precision.policy = level.policy;
  precision.keep_batch_norm_f32 = options.keep_batchnorm_fp32.value_or(level.keeps_batch_norm);
  precision.master_weights = options.master_weights.value_or(level.master_weights);
  precision.rounding = WeightRounding::nearest;
  LossScale usual{.kind = LossScale::Kind::off};
  if (level.loss_scale == LossScale::Kind::dynamic) usual = usual_loss_scale(level.policy);
  optimizer.loss_scale = options.loss_scale.value_or(usual);
}

std::vector<std::string> apex_levels() {
  std::vector<std::string> names;
  for (const ApexLevel& level : levels) names.emplace_back(level.name);
  return names;
}

void set_keras_policy(Optimizer& optimizer, std::string_view policy) {
  const std::vector<std::string> names = keras_policies();
  require(std::ranges::find(names, policy) != names.end(),
          "keras: expected a policy float32, mixed_bfloat16 or mixed_float16, got '", policy, '\'');
  PrecisionRequest& precision = optimizer.precision;
  precision.master_weights = precision.keep_batch_norm_f32 = true;
  precision.policy = policy == "float32" ? "lists" : policy;
  precision.narrow = policy == "mixed_float16"    ? DType::f16
                     : policy == "mixed_bfloat16" ? DType::bf16
                                                  : DType::f32;
  optimizer.loss_scale = LossScale{.kind = LossScale::Kind::off};
  if (precision.narrow == DType::f16) optimizer.loss_scale = usual_loss_scale(policy);
}

std::vector<std::string> keras_policies() { return {"float32", "mixed_bfloat16", "mixed_float16"}; }

LossScale usual_loss_scale(std::string_view policy) {
  LossScale scale;
  if (policy != "apex_lists" && policy != "apex_cast" && policy != "mixed_float16") return scale;
  scale.kind = LossScale::Kind::dynamic;
  scale.minimum = least_scale;
  if (policy != "mixed_float16") return scale;
  scale.initial = 32768;
  scale.maximum = std::numeric_limits<double>::infinity();
  return scale;
}

}  // namespace narrowgauge
