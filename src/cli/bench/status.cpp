// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/status.h"

#include <fmt/format.h>

#include "cli/common/text.h"
#include "narrowgauge/error.h"

namespace narrowgauge::cli {
namespace {

std::string iteration_text(const BenchStatus& status) {
  std::string text = fmt::format("iteration {}/{}", status.number, status.of);
  if (status.rate > 0) text += fmt::format("  {} a second", rate_text(status.rate));
  return text;
}

}  // namespace

std::string status_text(const BenchStatus& status, std::int64_t batch) {
  using Stage = BenchStatus::Stage;
  const auto of_row = [&](const std::string& what) {
    return fmt::format("{}  {}  batch {}  {}", status.model, status.label, batch, what);
  };
  switch (status.stage) {
    case Stage::choosing_precision:
      return concat(status.model, "  measuring which format is fastest");
    case Stage::planning_memory:
      return of_row("planning its memory");
    case Stage::making_weights:
      return of_row("making weights");
    case Stage::warming_up:
      return of_row("warming up");
    case Stage::iterating:
      return of_row(iteration_text(status));
    case Stage::timing_contractions:
      return fmt::format("{}  {}  contraction {}/{}", status.model, status.label, status.number,
                         status.of);
    default:
      return "measuring what this machine can do";
  }
}

}  // namespace narrowgauge::cli
