// SPDX-License-Identifier: Apache-2.0
// `narrowgauge report`: what a run left behind as one page.
#pragma once

#include <optional>
#include <string>

#include "cli/training/trained.h"

namespace narrowgauge::cli {

struct ReportFlags {
  TrainedFlags trained;
  std::optional<std::string> output, class_names;
  bool no_measure = false, json = false;
};

// Writes the page and says where it is; returns the exit code.
int run_report(const ReportFlags& flags);

}  // namespace narrowgauge::cli
