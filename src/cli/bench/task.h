// SPDX-License-Identifier: Apache-2.0
// What `bench` is asked to do, and what came of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/amp_choice.h"
#include "api/model_info.h"
#include "cli/network_choice.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

// ieee, f32 and dfp16 train f32 values: with contractions in IEEE's f32, in the way of keeping f32
// that suits the machine (bf16x3, dfp16 or ieee), or in dfp16. The others are mixed precision; auto
// is the format that is fastest here.
inline const std::vector<std::string> bench_precisions{"ieee", "f32", "dfp16",
                                                       "bf16", "f16", "auto"};

struct BenchTask {
  std::vector<std::string> models, precisions{"ieee", "f32", "bf16", "f16"};
  std::int64_t batch = 32, iterations = 10, batches = 10, seed = 1;
  NetworkFlags network{};  // of all models; empty: what is usual for each
  int threads = 0;
  bool json = false, roofline = false, kernels = false;
  std::optional<std::string> plot;
  bool against_torch = false;
  std::map<std::string, AmpChoice> chosen{};  // of each model, where auto is among the precisions

  // The format that "auto" stands for; other precisions as they are.
  std::string settled(const std::string& model, const std::string& precision) const;
};

// Interpolated quartiles; NaN of nothing.
struct Quartiles {
  double lower, median, upper;
};
Quartiles quartiles_of(std::vector<double> values);

struct BenchRow {
  std::string model, precision;
  std::string torch_layout{};    // of images in torch's memory; "": the row is ours
  std::vector<double> rates{};   // samples a second, of each iteration
  std::vector<double> losses{};  // of the first steps, warm-up included
  std::int64_t steps = 0, skipped_steps = 0;
  TrainingMemory memory{};
  std::int64_t batch_bytes = 0, largest_batch = 0;
  bool random = false;  // has dropout: its losses are those of the numbers drawn
  std::vector<Trainer::KernelChoice> kernels{};
  std::int64_t profiled_steps = 0;   // that `kernels` has the times of
  double profiled_milliseconds = 0;  // of those steps, whole
  std::int64_t fused_bytes = 0;      // that a step moves in the most fused plan; with the profile

  bool is_torch() const { return !torch_layout.empty(); }
  Quartiles spread() const { return quartiles_of(rates); }
  double rate() const { return spread().median; }
  double first_loss() const;
};

// What the row is called beside others of its model: "bf16", "torch bf16".
std::string label_of(const BenchRow& row);

// Whether the row's values are f32, so that torch's f32 stands beside it.
bool is_f32(const std::string& precision);
std::string in_torch(const std::string& precision);  // what torch calls it

// The row of the same model in ieee, or else in f32; nullptr without one.
const BenchRow* base_of(const std::vector<BenchRow>& rows, const BenchRow& row);

// Quartiles of the ratio of rates, each iteration against the other row's of the same round.
Quartiles rate_ratio(const BenchRow& row, const BenchRow& other);

// The row's speed (the median of rate_ratio()) and first loss against those of base_of(); NaN where
// there is none.
double speed_up(const std::vector<BenchRow>& rows, const BenchRow& row);
double loss_difference(const std::vector<BenchRow>& rows, const BenchRow& row);

// Whose kernels ran, most work first: "oneDNN amx", "own amx bf16x3", "own". For contractions with
// the instructions and the way of keeping f32 or f16.
std::vector<std::string> kernel_families(const std::vector<Trainer::KernelChoice>& kernels);

}  // namespace narrowgauge::cli
