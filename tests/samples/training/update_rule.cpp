// SPDX-License-Identifier: Apache-2.0
#include "samples/training/update_rule.h"

#include "base/random.h"

namespace narrowgauge {

SampleInput sample_flag(bool value) { return sample(Tensor::scalar(DType::boolean, value)); }
SampleInput sample_number(double value) { return sample("f32[]", value, value); }

SampleInput sample_bf16(SampleInput weight) {
  Tensor values(DType::bf16, known_dims(weight.type.shape));
  const RandomStream stream(1, "sample_bf16");
  for (std::int64_t i = 0; i < values.size(); ++i)
    values.set(i, 2 * double{stream.uniform(static_cast<std::uint64_t>(i))} - 1);
  return sample(std::move(values));
}

SampleInput sample_lost(SampleInput weight) {
  Tensor values = weight.constant->clone();
  for (std::int64_t i = 0; i < values.size(); ++i) values.set(i, 0x1p-10 * values.at(i));
  return sample(std::move(values));
}

SampleInput sample_key() {
  Tensor key(DType::i64, {2});
  key.set(0, 1234567);
  key.set(1, 3);
  return sample(std::move(key));
}

}  // namespace narrowgauge
