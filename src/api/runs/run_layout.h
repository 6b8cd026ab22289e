// SPDX-License-Identifier: Apache-2.0
// What lies where in the folder of a run.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "api/runs/checkpoint_files.h"

namespace narrowgauge {

inline constexpr const char* checkpoints_folder = "checkpoints";
// Files that the earlier form of a run has in the folder itself; the present form has links with
// some of these names there.
inline constexpr std::array earlier_form_files{model_file, plan_file,       "run.json",
                                               state_file, next_state_file, kernels_file};

// The number of a checkpoint by its name; 0: not a checkpoint's name.
std::int64_t checkpoint_number(const std::string& name);
std::string name_of_checkpoint(std::int64_t number);
std::string checkpoint_path(const std::string& run, std::int64_t number);
// The numbers of the checkpoints in a run, newest first.
std::vector<std::int64_t> numbers_in(const std::string& run);

bool is_link(const std::string& path);
bool is_there(const std::string& path);  // also a link that leads nowhere

}  // namespace narrowgauge
