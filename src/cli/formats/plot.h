// SPDX-License-Identifier: Apache-2.0
// How the exponents of numbers lie in the ranges of formats: bars of text, and a picture.
#pragma once

#include <string>
#include <vector>

#include "narrowgauge/number_format.h"

namespace narrowgauge::cli {

struct HistogramPanel {
  std::string title;
  const ExponentHistogram* histogram;
};

// One line for a range of exponents, with a mark for each format: = all its bits, - fewer, 0
// becomes zero, ^ too large.
std::string histogram_text(const ExponentHistogram& histogram,
                           const std::vector<const NumberFormat*>& formats, int width);

// A self-contained SVG: one panel below the other, and below all a bar for each format's range.
std::string histogram_picture(const std::string& title, const std::string& subtitle,
                              const std::vector<HistogramPanel>& panels,
                              const std::vector<const NumberFormat*>& formats);

}  // namespace narrowgauge::cli
