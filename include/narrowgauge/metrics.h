// SPDX-License-Identifier: Apache-2.0
// What an evaluation measures beside loss and accuracy.
#pragma once

#include <string>

#include "narrowgauge/export.h"

namespace narrowgauge {

// A metric that was asked for, and what it measured.
struct NG_API MetricValue {
  std::string name;  // as it was asked for
  double value = 0;  // mean over the samples
};

// The metrics that can be asked for: "accuracy, loss".
NG_API std::string metric_help();

}  // namespace narrowgauge
