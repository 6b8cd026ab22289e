// SPDX-License-Identifier: Apache-2.0
// Samples of a batch that hold values which bytes cannot: what is predicted for them is not a
// number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compile/quantized_inputs.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

class NotFiniteSamples {
 public:
  // A batch begins, which is computed in parts of so many samples.
  void begin(std::int64_t samples, std::int64_t samples_of_part);

  // Which infinities count: where an input of the graph becomes bytes all of them; elsewhere those
  // above, as masks hold negative ones.
  enum class Infinities : std::uint8_t { all, positive };

  // Marks the samples of a part in which such a value is NaN or infinite, or all of them where it
  // does not say whose its elements are.
  void look_at(const QuantizedInput& value, const void* data, Infinities which, std::int64_t part);

  // Makes the floats predicted for marked samples NaN; an output without samples as a whole.
  void put_into(std::span<Tensor> outputs) const;

 private:
  void mark(std::int64_t first, std::int64_t count);
  bool any() const;

  std::int64_t samples_of_part_ = 0;
  std::vector<std::uint8_t> marked_;  // for each sample of the batch
};

}  // namespace narrowgauge
