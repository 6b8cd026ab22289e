// SPDX-License-Identifier: Apache-2.0
// The network of a run from a file of ONNX: a copy in the folder of the run, as it began.
#pragma once

#include <string>

namespace narrowgauge::cli {

inline constexpr const char* network_file = "network.onnx";
// Whether a file may be such a copy: network_file, or "network.5d41402abc4b.onnx".
bool is_network_name(const std::string& name);

// Copies a network into the folder of a run, unless it lies there, and returns the copy's name: not
// that of an older run's network, which stays until the checkpoints of that run are gone.
std::string keep_network(const std::string& folder, const std::string& network);
// Removes the copies that no checkpoint in the folder names.
void remove_unused_networks(const std::string& folder);

}  // namespace narrowgauge::cli
