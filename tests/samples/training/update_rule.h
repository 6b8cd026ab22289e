// SPDX-License-Identifier: Apache-2.0
// What the samples of update rules share.
#pragma once

#include "samples/samples.h"

namespace narrowgauge {

// Scalars to try a rule with.
SampleInput sample_flag(bool value);
SampleInput sample_number(double value);

// A weight that is kept in bf16, its compensation, and a key of random numbers.
SampleInput sample_bf16(SampleInput weight);
SampleInput sample_lost(SampleInput weight);
SampleInput sample_key();

// Samples of a rule whose weight is kept in bf16: the first of these, once with a compensation and
// once with a random_key.
template <class T>
void add_narrow_samples(std::vector<Sample<T>>& samples) {
  for (const bool compensated : {true, false}) {
    Sample<T> narrow = samples.front();
    narrow.inputs.resize(record_of<T>().inputs.size() - 2, no_sample());
    narrow.inputs.front() = sample_bf16(narrow.inputs.front());
    narrow.inputs.push_back(compensated ? sample_lost(narrow.inputs.front()) : no_sample());
    narrow.inputs.push_back(compensated ? no_sample() : sample_key());
    samples.push_back(std::move(narrow));
  }
}

}  // namespace narrowgauge
