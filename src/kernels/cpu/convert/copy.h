// SPDX-License-Identifier: Apache-2.0
// Strided copies of elements of 1, 2, 4 or 8 bytes between any orders of axes: the basis of
// transposes, slices, concatenations, pads, expansions and layout changes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace narrowgauge::cpu {

// Strides are in elements and may be negative; source_stride 0 repeats (or fills, if all are 0).
struct CopyAxis {
  std::int64_t size = 1;
  std::int64_t source_stride = 0;
  std::int64_t target_stride = 0;
};

// A copy prepared for given axes; run() may be called repeatedly and from several threads. Source
// and target must not overlap, and the target's elements must be distinct.
class StridedCopy {
 public:
  // Throws UsageError unless element_bytes is 1, 2, 4 or 8.
  StridedCopy(std::span<const CopyAxis> axes, std::int64_t element_bytes);
  void run(const void* source, void* target) const;

 private:
  enum class Kind : std::uint8_t { nothing, rows, strided, transpose };
  template <class Word>
  void run_unit(std::int64_t number, const Word* source, Word* target) const;
  template <class Word>
  void run_all(const void* source, void* target) const;

  Kind kind_ = Kind::nothing;
  std::int64_t element_bytes_;
  std::vector<CopyAxis> outer_;
  // The two innermost axes; in a transpose the target is contiguous along inner_ and the source
  // along row_. Both are cut into pieces for the threads and the cache.
  CopyAxis row_, inner_;
  std::int64_t row_piece_ = 1, inner_piece_ = 1, units_ = 0;
};

}  // namespace narrowgauge::cpu
