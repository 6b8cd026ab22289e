// SPDX-License-Identifier: Apache-2.0
// --amp auto: which format a network trains fastest in on this machine, by a short measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "compile/turns.h"
#include "narrowgauge/model.h"

namespace narrowgauge {

struct FormatRate {
  DType format = DType::f32;
  double gflops = 0;     // of the contractions tried
  bool widened = false;  // all to f32 before they multiply: never faster
};

// What the rates of formats are based on.
enum class Grounds {
  all_threads,  // contractions in the threads of a step
  one_thread,   // contractions in one thread, while it had a core: others use the cores
  model         // what units the CPU has: it is too busy to tell
};

struct AmpChoice {
  DType format = DType::f32;
  std::string reason;  // "contractions at 250 GFLOP/s in f32, 1800 in bf16, ...: bf16 is fastest"
};

// A narrow format counts as faster only from this many times f32's rate on.
constexpr double faster_by = 1.05;

// The fastest format: f32 unless a narrow format is faster, the first of equals. `rates` begins
// with f32.
AmpChoice fastest_format(const std::vector<FormatRate>& rates,
                         Grounds grounds = Grounds::all_threads);

// The rate of f32, bf16 or f16 on a CPU of this tier, relative to f32.
FormatRate modelled_rate(Isa isa, DType format);

// Calls measure(stopwatch) in the threads of the caller and, if it returns false because others
// disturb it, in one thread alone.
using MakeStopwatch = std::function<std::unique_ptr<Stopwatch>()>;
std::unique_ptr<Stopwatch> make_stopwatch();
Grounds measure_or_model(const MakeStopwatch& make, FunctionRef<bool(Stopwatch&)> measure);

// Runs some contractions of a training step alone, in f32, bf16 and f16 in turn, stored and
// computed as they would be. A format that would change nothing in this network is left out. Tests
// pass other stopwatches.
AmpChoice choose_amp(const std::string& name, const BuildNetwork& build, const Loss& loss,
                     const Optimizer& optimizer, std::int64_t batch,
                     const MakeStopwatch& make = make_stopwatch);

}  // namespace narrowgauge
