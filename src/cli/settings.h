// SPDX-License-Identifier: Apache-2.0
// Everything that decides how a run goes: from flags, from a resumed run, and from what suits a
// network. Kept in run.json.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/hyperparameter_flags.h"
#include "narrowgauge/optimizer.h"

namespace narrowgauge::cli {

// Flags as typed; empty where a flag was not given.
struct TrainFlags {
  std::optional<std::string> model, data, amp, policy, math, optimizer, schedule, loss_scale;
  std::optional<std::int64_t> epochs, batch, warmup, seed, threads;
  std::optional<double> learning_rate, clip;
  HyperparameterFlags hyperparameters;  // of the optimizer
  std::vector<std::string> overrides, compare, metrics;
  std::optional<std::string> plan, save_plan, output, resume, weights, weights_match;
  std::optional<std::string> device, trace, checkpoint_every, recompute;
  std::optional<double> tolerance;
  std::optional<std::int64_t> keep;
  bool deterministic = false, json = false, quiet = false;
};

struct Settings {
  std::string model, data = "glyphs";
  std::string amp = "off";             // off, f16 or bf16; auto until it is settled
  std::string policy = "lists";        // which nodes become narrow
  std::vector<std::string> overrides;  // of the policy
  std::string math = "f32";            // of contractions in f32
  std::int64_t epochs = 3, batch = 128;
  std::string optimizer = "sgd";
  double learning_rate = 0.05, clip = 0;
  UpdateRule rule;  // of the optimizer, with its hyperparameters
  std::string schedule = "cosine";
  std::int64_t warmup = -1;  // steps; -1: what suits network and length
  std::string loss_scale;    // "": dynamic for f16, off otherwise
  std::int64_t seed = 1;
  int threads = 0;  // 0: all
  bool deterministic = false;

  bool operator==(const Settings&) const = default;
};

// The usual settings for a network and an optimizer.
Settings usual_settings(const std::string& model, const std::string& optimizer);

// Takes flags first, then the resumed run, or else the environment and the usual values. Throws
// UsageError and ModelError for unknown names.
Settings settle(const TrainFlags& flags, const std::optional<Settings>& resumed);

// Throws ModelError naming the networks there are.
void require_model(const std::string& name);
// Throws DeviceError for anything but the CPU.
void require_device(const std::optional<std::string>& name);

// The format asked for by --amp, or else that of the run at hand, or else that of NARROWGAUGE_AMP
// or NARROWGAUGE_AUTO_MIXED_PRECISION, or else `usual`.
std::string settle_amp(const std::optional<std::string>& flag,
                       const std::optional<std::string>& of_run, const std::string& usual = "off");

// The format for --amp when --plan is given: the plan's. Throws UsageError for another --amp and
// for overrides, which a given plan does not use.
std::string amp_of_plan(const std::string& plan, const std::optional<std::string>& amp,
                        const std::vector<std::string>& overrides);

Optimizer make_optimizer(const Settings& settings, std::int64_t steps_per_epoch);
void set_amp(Optimizer& optimizer, const std::string& amp,
             const std::vector<std::string>& overrides);

// Throws UsageError naming the first setting that makes no sense.
void check_settings(const Settings& settings);

std::vector<std::string> amp_words();  // off, f16, bf16
// The words of --amp: auto is what is fastest here, by a short measurement.
std::vector<std::string> amp_flag_words();
// The format for one of amp_words(): "f32" for off.
std::string format_word(const std::string& amp);
std::vector<std::string> policy_words();
std::string policy_help();
// The math of contractions of f32 values; bf16x3 and dfp16 are ways of keeping f32.
inline const std::vector<std::string> math_words{"f32",    "ieee",   "tf32",
                                                 "tf32x3", "bf16x3", "dfp16"};
inline constexpr const char* math_help =
    "f32, ieee, tf32, tf32x3, bf16x3, dfp16 or sim:UNIT[:FORMAT]";
// Throws UsageError for other words.
Math math_of(const std::string& word);

}  // namespace narrowgauge::cli
