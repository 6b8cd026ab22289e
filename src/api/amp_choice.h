// SPDX-License-Identifier: Apache-2.0
// --amp auto: which format a network trains fastest in on this machine, by a short measurement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "narrowgauge/model.h"

namespace narrowgauge {

struct FormatRate {
  std::string amp;       // "off", "bf16", "f16"
  double gflops = 0;     // of the contractions tried
  bool widened = false;  // all to f32 before they multiply: never faster
};

struct AmpChoice {
  std::string amp = "off";
  std::string reason;  // "contractions at 250 GFLOP/s in f32, 1800 in bf16, ...: bf16 is fastest"
};

// The fastest; f32 unless a narrow format is at least a twentieth faster, the first of equals. The
// first rate is that of f32.
AmpChoice fastest_format(const std::vector<FormatRate>& rates);

// Runs some of the contractions of a training step alone, in f32, bf16 and f16, as they would be
// stored and computed. A format that would change nothing in this network is left out.
AmpChoice choose_amp(const std::string& name, const BuildNetwork& build, const Loss& loss,
                     const Optimizer& optimizer, std::int64_t batch);

// The format as a request; nothing for "off".
std::optional<DType> narrow_of_amp(const std::string& amp);

}  // namespace narrowgauge
