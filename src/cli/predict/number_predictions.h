// SPDX-License-Identifier: Apache-2.0
// Predicted numbers, beside their targets where these are known.
#pragma once

#include <string>

#include "cli/predict/predictions.h"

namespace narrowgauge::cli {

std::string csv_of_numbers(const Predictions& predictions);
// The arrays `outputs`, `targets` and `samples`.
void save_number_arrays(const std::string& path, const Predictions& predictions);
void print_numbers(const Predictions& predictions, bool json);

}  // namespace narrowgauge::cli
