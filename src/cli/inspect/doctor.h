// SPDX-License-Identifier: Apache-2.0
// What `doctor` prints about a machine, from what was measured there.
#pragma once

#include <string>

#include "narrowgauge/roofline.h"
#include "study/doctor.h"

namespace narrowgauge::cli {

struct Facts {
  Machine machine;
  Isa isa = Isa::avx2;  // that is used
  MathRates math;
  PeakRates peaks;
};

std::string facts_text(const Facts& facts);
std::string facts_json(const Facts& facts);  // a line

}  // namespace narrowgauge::cli
