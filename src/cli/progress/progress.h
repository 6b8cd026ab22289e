// SPDX-License-Identifier: Apache-2.0
// How a run is going: a bar on a terminal, plain lines in a pipe, or JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/progress/result_words.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

enum class ReportStyle { automatic, json, quiet };

class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void update(const Progress& progress) = 0;
};

// `label` is the precision of the run, `batch` its samples in a step.
std::unique_ptr<Reporter> make_reporter(ReportStyle style, const std::string& label,
                                        std::int64_t batch, const ResultWords& words = {});

}  // namespace narrowgauge::cli
