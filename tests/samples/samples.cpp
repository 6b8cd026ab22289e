// SPDX-License-Identifier: Apache-2.0
#include "samples/samples.h"

#include <map>

#include "ops/axes/axes.h"

namespace narrowgauge {

SampleInput sample_list(const Dims& values) { return sample(list_of(values)); }

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
