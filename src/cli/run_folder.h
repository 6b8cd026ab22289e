// SPDX-License-Identifier: Apache-2.0
// The folder of a run: model.safetensors and state.safetensors (the checkpoint), plan.txt (the
// precision plan) and run.json (settings, and what became of the images).
#pragma once

#include <string>

#include "cli/image_data.h"
#include "cli/settings.h"
#include "narrowgauge/precision.h"

namespace narrowgauge::cli {

struct RunRecord {
  Settings settings;
  ImageData data;  // without its sources
};

// Throws DataError when there is no such run, or its record is damaged.
RunRecord read_run(const std::string& folder);
void write_run(const std::string& folder, const RunRecord& record, const PrecisionPlan& plan);

// Makes the folder, and tries to write there: better to know before training than after.
void require_writable(const std::string& folder, const Settings& settings);

std::string model_path(const std::string& folder);
std::string plan_path(const std::string& folder);

}  // namespace narrowgauge::cli
