// SPDX-License-Identifier: Apache-2.0
// Calls to try ops with, a few for each op. What an op has stands in
// tests/samples/<room>/<stem>.cpp, where the op is src/ops/<room>/<stem>.h; the build collects the
// marks NG_SAMPLES into one table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/op_record.h"

namespace narrowgauge {

struct SampleInput {
  TensorType type;            // f32 stands for every float format
  double low = -2, high = 2;  // values are uniform in between; whole numbers for integer dtypes
  std::optional<Tensor> constant{};  // a value instead (Reshape's shape, labels, ...)
  bool present = true;               // false: an optional input left out
};
// "f32[2,3]": the dtype f32 stands for every float format that the op takes.
SampleInput sample(std::string_view type, double low = -2, double high = 2);
SampleInput sample(Tensor constant);          // always this value
SampleInput sample_list(const Dims& values);  // always this list, i64
SampleInput no_sample();                      // an optional input left out

// An op with its attributes, and inputs for it.
template <class T>
struct Sample {
  T op;
  std::vector<SampleInput> inputs;  // one for each input port
};
// A Sample of an op that is known only when the program runs.
struct ErasedSample {
  Attributes attributes;
  std::vector<SampleInput> inputs;  // one for each input port
};

// All samples of one op, by its full name.
struct OpSamples {
  std::string op;
  std::vector<ErasedSample> samples;
};
std::vector<OpSamples> collected_samples();  // of every mark

// The samples of the op of this name; none where no mark names it.
const std::vector<ErasedSample>& samples_of(const OpRecord& op);
template <Op T>
std::vector<Sample<T>> samples_of() {
  std::vector<Sample<T>> all;
  for (const ErasedSample& sample : samples_of(record_of<T>()))
    all.push_back({sample.attributes.as<T>(), sample.inputs});
  return all;
}

template <Op T>
OpSamples erased(const std::vector<Sample<T>>& samples) {
  OpSamples all{record_of<T>().full_name(), {}};
  for (const Sample<T>& sample : samples)
    all.samples.push_back({Attributes::of(T(sample.op)), sample.inputs});
  return all;
}

}  // namespace narrowgauge

// NG_SAMPLES(stem, samples, ...) must stand once per file, at its end, at the start of a line: the
// samples of each op are a std::vector<Sample<Op>>.
#define NG_SAMPLES(stem, ...)                            \
  namespace narrowgauge::sample_table_parts {            \
  std::vector<OpSamples> stem();                         \
  std::vector<OpSamples> stem() {                        \
    return [](const auto&... samples) {                  \
      return std::vector<OpSamples>{erased(samples)...}; \
    }(__VA_ARGS__);                                      \
  }                                                      \
  }
