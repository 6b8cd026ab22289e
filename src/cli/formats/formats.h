// SPDX-License-Identifier: Apache-2.0
// The parts of `narrowgauge formats`: tables of the formats, numbers in each of them, and how the
// values of a file or a run would fare.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "narrowgauge/number_format.h"

namespace narrowgauge::cli {

struct FormatsFlags {
  std::vector<std::string> numbers, formats;
  std::optional<std::string> histogram, plot, data, convert;
  std::optional<double> scale, loss_scale;
  std::optional<std::int64_t> batch;
  bool tensors = false, json = false;
};

// The formats of --format, or all.
std::vector<const NumberFormat*> chosen_formats(const FormatsFlags& flags);

std::string format_tables(const std::vector<const NumberFormat*>& formats);
std::string format_tables_json(const std::vector<const NumberFormat*>& formats);

std::string number_tables(const FormatsFlags& flags);
std::string number_tables_json(const FormatsFlags& flags);

int run_histogram(const FormatsFlags& flags);

// Converts raw numbers from stdin to another format on stdout: "f32:f16".
int run_convert(const std::string& formats);

}  // namespace narrowgauge::cli
