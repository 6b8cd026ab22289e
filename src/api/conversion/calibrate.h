// SPDX-License-Identifier: Apache-2.0
// Runs a network over samples and takes down what its values are.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "narrowgauge/data.h"
#include "narrowgauge/graph.h"
#include "quantize/calibration.h"

namespace narrowgauge {

struct CalibrationSamples {
  std::shared_ptr<DataSource> source;
  std::int64_t count = 0;  // drawn by `seed`; all where the source has no more
  std::uint64_t seed = 1;
};

// Calibrates these values of a frozen graph, by their names. Each sample runs by itself, by kernels
// that no measurement chose, so that what is seen depends neither on batches nor on the order of
// the samples. Throws DataError for samples that do not fit the graph or are not finite.
Calibration calibrate(const Graph& graph, const std::vector<Value>& values,
                      const CalibrationSamples& samples,
                      const std::function<void(std::int64_t done)>& progress);

// The first size of a network's inputs where it is fixed; nothing where it is open.
std::optional<std::int64_t> fixed_batch(const Graph& graph);

// Throws DataError naming what a network needs and what the source has.
void require_inputs_fit(const Graph& graph, const DataSource& source, std::string_view what);

// Throws DataError naming the first sample of a batch, which begins with sample `first`, that is
// not finite.
void require_finite(std::span<const Tensor> inputs, std::string_view what, std::int64_t first);

}  // namespace narrowgauge
