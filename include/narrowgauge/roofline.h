// SPDX-License-Identifier: Apache-2.0
// Where the time of a training step goes, and how near it comes to what the machine can do:
//
//   trainer.enable_profile();
//   ...  // so many steps, in so many milliseconds
//   const Roofline found = roofline({trainer.kernels(), steps, milliseconds}, measure_peaks());
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

// The rates that the units of this machine reach in short loops: operations and bytes a second, of
// all threads together. 0 if there is no such unit, or NARROWGAUGE_ISA excludes it.
struct NG_API PeakRates {
  double f32 = 0, bf16 = 0, int16 = 0, int8 = 0;  // operations a second, by type of the factors
  double memory = 0;                              // bytes a second

  // The highest rate of a contraction under this contract, in the fastest way that keeps it here:
  // bf16 as it is or in int16, f32 in int16 or as three products of bf16, f16 and dfp16 in int16 or
  // as three products of int8, and all others in f32.
  double of(Math contract) const;
};
// Takes about six times `seconds`.
NG_API PeakRates measure_peaks(double seconds = 0.2);
// The higher of each rate: a peak shows only while nothing else runs, so it is measured more than
// once.
NG_API PeakRates best_of(const PeakRates& a, const PeakRates& b);

// The kernels of some training steps, as Trainer::kernels() has them.
struct TrainingProfile {
  std::vector<Trainer::KernelChoice> kernels{};  // times of all steps, FLOPs and bytes of one
  std::int64_t steps = 0;                        // that `kernels` has the times of
  double milliseconds = 0;                       // of those steps, whole
  std::int64_t fused_bytes = 0;  // that a step moves in the most fused plan; 0: not known
};

// The bytes that a training step with so many samples must move however well it is fused: each
// stored tensor is written once and read once by each op that needs it (study/most_fused.h).
NG_API std::int64_t most_fused_bytes(const Graph& training_graph, const PrecisionPlan& precision,
                                     std::int64_t batch);

// The kernels of one kind in one step, or all of them.
struct RooflineGroup {
  std::string name;                               // "convolution", "elementwise", "all kernels"
  double milliseconds = 0, flops = 0, bytes = 0;  // measured; of contractions; read or written
  // FLOPs at the measured peak of their math mode, plus bytes at the measured bandwidth.
  double bound_milliseconds = 0;
};

// A training step by kinds of kernels, with the least time that each could take here.
struct Roofline {
  std::vector<RooflineGroup> groups;  // in the order of the network, those that ran
  RooflineGroup total;                // all kernels
  double step_milliseconds = 0;       // whole, with what lies between the kernels
  // Has the same FLOPs, but the bytes of the most fused plan, whatever plan ran; not measured, so
  // its `milliseconds` are 0. All numbers are 0 where TrainingProfile::fused_bytes is not known.
  RooflineGroup fused;
};
// Sorts the kernels of a profile into groups and divides their times by its steps.
NG_API Roofline roofline(const TrainingProfile& profile, const PeakRates& rates);

}  // namespace narrowgauge
