// SPDX-License-Identifier: Apache-2.0
#include "samples/samples.h"

#include <map>

#include "ops/shape/axes.h"

namespace narrowgauge {

SampleInput sample(std::string_view type, double low, double high) {
  return {TensorType::parse(type), low, high, {}, true};
}

SampleInput sample(Tensor constant) {
  SampleInput input{constant.type()};
  input.constant = std::move(constant);
  return input;
}

SampleInput sample_list(const Dims& values) { return sample(list_of(values)); }

SampleInput no_sample() {
  SampleInput input;
  input.present = false;
  return input;
}

const std::vector<ErasedSample>& samples_of(const OpRecord& op) {
  static const std::map<std::string, std::vector<ErasedSample>> table = [] {
    std::map<std::string, std::vector<ErasedSample>> all;
    for (OpSamples& each : collected_samples()) all[each.op] = std::move(each.samples);
    return all;
  }();
  static const std::vector<ErasedSample> none;
  const auto found = table.find(op.full_name());
  return found == table.end() ? none : found->second;
}

}  // namespace narrowgauge
