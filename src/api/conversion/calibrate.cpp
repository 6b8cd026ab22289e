// SPDX-License-Identifier: Apache-2.0
#include "api/conversion/calibrate.h"

#include <algorithm>
#include <cmath>

#include "api/conversion/frozen.h"
#include "passes/core/rebuild.h"

namespace narrowgauge {

namespace {

// The graph with these values as its outputs.
Graph observed(const Graph& graph, const std::vector<Value>& values) {
  Rebuild rebuild(graph);
  for (int i = 0; i < static_cast<int>(graph.nodes().size()); ++i) rebuild.copy(i);
  Graph made = std::move(rebuild.graph());
  for (const Value value : values) made.output(graph.value_name(value), rebuild.mapped(value));
  return made;
}

bool fits_sample(const Shape& shape, const Shape& sample) {
  if (shape.size() != sample.size() + 1) return false;
  return std::equal(sample.begin(), sample.end(), shape.begin() + 1,
                    [](const Dim& a, const Dim& b) { return !b.is_known() || a == b; });
}

}  // namespace

std::optional<std::int64_t> fixed_batch(const Graph& graph) {
  for (const Value input : graph.inputs())
    if (const Shape& shape = graph.type(input).shape; !shape.empty() && shape[0].is_known())
      return shape[0].value();
  return {};
}

void require_inputs_fit(const Graph& graph, const DataSource& source, std::string_view what) {
  const TensorTypes types = source.sample_types();
  const Values& inputs = graph.inputs();
  require<DataError>(source.size() > 0, what, ": there are no samples");
  require<DataError>(types.size() >= inputs.size(), what, ": a sample has ", types.size(),
                     " tensors, the network takes ", inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& wanted = graph.type(inputs[i]);
    require<DataError>(types[i].dtype == wanted.dtype && fits_sample(wanted.shape, types[i].shape),
                       what, ": input '", graph.value_name(inputs[i]), "' is ", wanted,
                       ", a sample has ", types[i]);
  }
}

void require_finite(std::span<const Tensor> inputs, std::string_view what, std::int64_t first) {
  for (const Tensor& input : inputs) {
    if (input.dtype() != DType::f32) continue;
    const std::span<const float> values = input.values<float>();
    const auto found =
        std::ranges::find_if(values, [](float x) { return !std::isfinite(x); }) - values.begin();
    if (found == std::ssize(values)) continue;
    const std::int64_t row = found / (std::ssize(values) / input.dims()[0]);
    throw DataError(concat(what, ": sample ", first + row, " holds infinities or NaN"));
  }
}

Calibration calibrate(const Graph& graph, const std::vector<Value>& values,
                      const CalibrationSamples& samples,
                      const std::function<void(std::int64_t done)>& progress) {
  require_inputs_fit(graph, *samples.source, "calibration");
  std::vector<std::string> names;
  for (const Value value : values) names.push_back(graph.value_name(value));
  Calibration seen(names);
  FrozenNetwork network(observed(graph, values), /*deterministic=*/true);
  BatchLoader loader(samples.source, {.batch = fixed_batch(graph).value_or(1),
                                      .keep_last = true,
                                      .seed = samples.seed,
                                      .epochs = 1});
  const std::int64_t count = std::min(samples.count, samples.source->size());
  for (std::int64_t done = 0; done < count;) {
    const std::optional<Batch> batch = loader.next();
    if (!batch) break;
    if (batch->tensors.empty() || batch->tensors[0].dims()[0] == 0) continue;  // damaged
    const std::span inputs(batch->tensors.data(), graph.inputs().size());
    require_finite(inputs, "calibration", done + 1);
    const std::vector<Tensor> outputs = network.run(inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) seen.observe(names[i], outputs[i]);
    seen.count_samples(inputs[0].dims()[0]);
    done += inputs[0].dims()[0];
    if (progress) progress(std::min(done, count));
  }
  return seen;
}

}  // namespace narrowgauge
