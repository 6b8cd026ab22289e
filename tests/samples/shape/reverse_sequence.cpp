// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/reverse_sequence.h"

#include "samples/samples.h"

namespace narrowgauge {

namespace {

std::vector<Sample<ReverseSequence>> reverse_sequence_samples() {
  const ReverseSequence batch_first{.batch_axis = 0, .time_axis = 1};
  return {{{}, {sample("f32[4,3]"), sample("i64[3]", 0, 4)}},
          {batch_first, {sample("f32[2,5,3,2]"), sample("i64[2]", 0, 5)}},
          {batch_first, {sample("i64[3,4]", -9, 9), sample("i64[3]", 0, 4)}}};
}

}  // namespace

}  // namespace narrowgauge

NG_SAMPLES(reverse_sequence, reverse_sequence_samples())
