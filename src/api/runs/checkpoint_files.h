// SPDX-License-Identifier: Apache-2.0
// The files of one checkpoint and their manifest, and the form that earlier versions wrote.
#pragma once

#include <cstdint>
#include <string>

#include "narrowgauge/checkpoint.h"

namespace narrowgauge {

inline constexpr const char* model_file = "model.safetensors";
inline constexpr const char* state_file = "state.safetensors";
inline constexpr const char* plan_file = "plan.txt";
inline constexpr const char* kernels_file = "kernels.json";
inline constexpr const char* manifest_file = "manifest.json";
inline constexpr const char* next_state_file = "state.safetensors.next";  // of the earlier form

// The key in the metadata of a state that was the best of its training when it was written.
inline constexpr const char* best_key = "best";

std::string path_in(const std::string& folder, const std::string& file);

// Makes the folder `path`, which then exists with all its files or not at all. What the manifest
// says of the run comes from the state's metadata.
void write_checkpoint(const std::string& path, const Checkpoint& content);
// Reads every file that the manifest names and compares its bytes and digest. Throws DataError.
Checkpoint read_whole_checkpoint(const std::string& path);
// The run that the manifest names; "" if it cannot be read.
std::string run_of_checkpoint(const std::string& path);
std::int64_t step_of_checkpoint(const std::string& path);  // -1 where it cannot be read
// Whether it was the best when it was written; false where the manifest cannot be read.
bool is_best_checkpoint(const std::string& path);

// Reads the earlier form; without a state where there is none, as after weights were copied alone.
Checkpoint read_earlier_form(const std::string& folder);

}  // namespace narrowgauge
