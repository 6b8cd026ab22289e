// SPDX-License-Identifier: Apache-2.0
// What a run computes in, as one value from the flags to the training: settled from the flags, a
// plan, the run at hand and the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/training/amp_choice.h"
#include "cli/flags/flags.h"
#include "narrowgauge/precision.h"
#include "narrowgauge/weight_rounding.h"
#include "precision/amp.h"

namespace narrowgauge::cli {

// Flags as given; empty where a flag was not.
struct PrecisionFlags {
  std::optional<Amp> amp{};
  std::optional<std::string> policy{}, plan{};
  std::optional<std::string> level{};  // of apex
  std::optional<bool> keep_batch_norm_f32{}, master_weights{};
  std::optional<WeightRounding> rounding{};
  std::optional<Math> math{};
  bool in_f64 = false;  // --math f64
  std::vector<std::string> overrides{};
};

struct RunPrecision : PrecisionRequest {
  bool automatic = false;  // `narrow` is still to be chosen, by what is fastest here

  Amp amp() const { return {narrow, automatic}; }
  void set_amp(const Amp& amp);  // in f32 all weights are masters, and nothing is overridden
  bool operator==(const RunPrecision&) const = default;
};

// --amp with the words of all formats, and where they are wanted "auto".
void add_amp(CLI::App& app, const std::string& help, PrecisionFlags& flags);
void add_amp_or_auto(CLI::App& app, const std::string& help, PrecisionFlags& flags);
void add_policy(CLI::App& app, PrecisionFlags& flags);
// --opt-level, --keep-batchnorm-fp32, --master-weights and --weight-rounding.
void add_masters(CLI::App& app, PrecisionFlags& flags);
void add_math(CLI::App& app, PrecisionFlags& flags);
void add_math_or_f64(CLI::App& app, PrecisionFlags& flags);
void add_overrides(CLI::App& app, PrecisionFlags& flags);
std::vector<std::string> policy_words();  // all but f32, which is --amp off or --policy float32

// Throw UsageError for other words: "--amp: expected off, f16, bf16 or auto, ...".
Amp amp_of(const std::string& word);
Math math_of(const std::string& word);

// The format of the plan that is given or asked for by --amp, or else that of the run at hand, or
// else that of the environment, or else `usual`; the rest from the flags, or else the run at hand.
// A level of apex, or a policy with a format of its own, comes with its format. Throws UsageError
// for another --amp and for overrides beside --plan, which decides on every node, and for an --amp
// or a
// --policy beside --opt-level.
RunPrecision settle_precision(const PrecisionFlags& flags,
                              const std::optional<RunPrecision>& of_run, const Amp& usual = {});
// Throw UsageError: for flags beside --plan that the plan decides; for --policy, overrides, and
// weights without masters where nothing is to be narrow.
void check_plan_alone(const PrecisionFlags& flags);
void check_used(const RunPrecision& precision, const PrecisionFlags& flags);

// Chooses the format that measure() finds fastest and returns the reason; "" where the format was
// chosen already.
std::string settle_automatic(RunPrecision& precision, const std::function<AmpChoice()>& measure);
// Whether what a trained run computes in is its plan: it is narrow as then, and nothing else asked
// for.
bool is_as_trained(const RunPrecision& now, const RunPrecision& then, const PrecisionFlags& flags);

// "f16" or "bf16"; "f64"; for f32 "ieee" or "f32".
std::string name_of(const RunPrecision& precision);

}  // namespace narrowgauge::cli
