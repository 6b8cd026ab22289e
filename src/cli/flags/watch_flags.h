// SPDX-License-Identifier: Apache-2.0
// Flags for those who watch a training, as typed; empty where a flag was not given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace narrowgauge::cli {

struct WatchFlags {
  std::optional<std::string> tensorboard, profile;
  std::optional<std::int64_t> log_every, profile_steps;
  bool histograms = false;
};

}  // namespace narrowgauge::cli
