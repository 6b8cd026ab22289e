// SPDX-License-Identifier: Apache-2.0
// What number formats would make of given values: how many each leaves as they are, rounds, flushes
// to zero or cannot hold, and the exponents in which they lie.
//
//   FormatCensus census({find_number_format("f16"), find_number_format("bf16")});
//   for (const NamedTensor& weight : file.tensors) census.add(weight.tensor);
//   census.rows()[0].of(Fate::flushed);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "narrowgauge/block_format.h"
#include "narrowgauge/export.h"
#include "narrowgauge/number_format.h"

namespace narrowgauge {

// What happened to the values in one format. Block formats do not count subnormals apart.
struct NG_API FormatFates {
  std::string_view format;  // its name
  FateCounts counts{};      // finite values of each fate, by Fate
  bool blocks = false;      // whether it is a block format

  // The number of values with this fate.
  std::int64_t of(Fate fate) const { return counts[static_cast<std::size_t>(fate)]; }
  // Values past the format's largest number, whatever they became. 0 for block formats.
  std::int64_t too_large() const { return of(Fate::overflow) + of(Fate::saturated); }
};

// Counts what each of several formats would make of the values of any number of tensors.
class NG_API FormatCensus {
 public:
  // Starts without values. The formats, and the text of their names, must live as long as the
  // census.
  explicit FormatCensus(std::vector<const NumberFormat*> formats,
                        std::span<const NamedBlockFormat> blocks = {});

  // Counts the values of a tensor times `scale`. i8 gets the usual scale of a tensor, its largest
  // value becomes 127. Block formats see rows as a contraction reads them: all axes but the first
  // make one.
  void add(const Tensor& tensor, double scale = 1);

  // How many values were added, infinities and NaN included.
  std::int64_t values() const { return values_; }
  // The exponents of all values, each times the scale it was added with.
  const ExponentHistogram& histogram() const { return histogram_; }
  const std::vector<FormatFates>& rows() const { return rows_; }  // formats, then block formats

 private:
  std::vector<const NumberFormat*> formats_;
  std::vector<BlockFormat> blocks_;
  std::int64_t values_ = 0;
  ExponentHistogram histogram_;
  std::vector<FormatFates> rows_;
};

}  // namespace narrowgauge
