// SPDX-License-Identifier: Apache-2.0
// What `convert` converts: a run, a file of ONNX or a built-in network, with the samples that it is
// calibrated and measured on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/shape_flag.h"
#include "cli/task/network_choice.h"
#include "cli/task/task.h"
#include "narrowgauge/engine.h"
#include "narrowgauge/model.h"

namespace narrowgauge::cli {

struct ConvertSourceFlags {
  std::optional<std::string> source, weights, calibrate;
  std::optional<std::string> mean, deviation;  // of pixels; a run has its own
  NetworkFlags network;
  KnownInputFlags known;
  std::vector<std::string> ranges;  // files to take them from
  bool takes_kept_ranges = false;   // those of a run's training, unless others are named
};

struct ConvertSource {
  Model model;
  std::shared_ptr<DataSource> calibration, validation;  // nullptr: none
  std::string data;                                     // their name; "": there are none
  std::optional<ImageFacts> images{};                   // how pictures become these, where they do
  std::vector<std::string> ranges{};                    // files that ranges are from; none: samples
  std::string ranges_name{};                            // where ranges are from; as for data
};

inline constexpr const char* random_data = "random";  // of --calibrate: numbers that are drawn

// How pictures become the input of the network: "nhwc" or "nchw" is their layout. Throws UsageError
// where neither source nor flags tell.
EnginePixels pixels_of(const ConvertSource& source, const ConvertSourceFlags& flags,
                       std::string_view layout);

// Throws UsageError for flags that do not fit each other, and what opening network and data throws.
// A run with ranges goes without samples where its data are gone, and says so.
ConvertSource open_convert_source(const ConvertSourceFlags& flags);

}  // namespace narrowgauge::cli
