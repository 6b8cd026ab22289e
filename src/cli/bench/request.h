// SPDX-License-Identifier: Apache-2.0
// What the command `bench` is asked to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/task/network_choice.h"
#include "narrowgauge/bench.h"

namespace narrowgauge::cli {

struct BenchRequest {
  BenchTask task;
  std::vector<NetworkChoice> networks;  // those of the task
  bool json = false, kernels = false;
  std::optional<std::string> plot;
};

void add_network(BenchRequest& request, const NetworkChoice& network);

}  // namespace narrowgauge::cli
