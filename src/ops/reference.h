// SPDX-License-Identifier: Apache-2.0
// Helpers of reference kernels: read and write any dtype as double, with any strides.
#pragma once

#include <functional>

#include "base/indexed_vector.h"
#include "narrowgauge/kernel.h"
#include "tensor/values.h"

namespace narrowgauge {

// An operand as doubles, or as whole numbers, addressed by its logical row-major index. Whole
// numbers are exact for i64 and u64, where doubles lose bits beyond 2^53.
class ReferenceView {
 public:
  ReferenceView(const Operand& operand, const View& view) : operand_(operand), data_(view.data) {}
  bool present() const { return data_ != nullptr; }
  const Dims& dims() const { return operand_.dims; }
  std::int64_t size() const { return element_count(operand_.dims); }
  // The offset of element `index` (row-major over the logical shape), blocks included.
  std::int64_t offset(std::int64_t index) const;
  double operator[](std::int64_t index) const {
    return load_element(operand_.dtype, data_, offset(index));
  }
  void set(std::int64_t index, double value) const {
    store_element(operand_.dtype, data_, offset(index), value);
  }
  WideInteger whole(std::int64_t index) const {
    return load_whole(operand_.dtype, data_, offset(index));
  }
  void set_whole(std::int64_t index, WideInteger value) const {
    store_whole(operand_.dtype, data_, offset(index), value);
  }
  // A whole number that is known to fit: an index, a count, a label.
  std::int64_t integer(std::int64_t index) const { return static_cast<std::int64_t>(whole(index)); }
  // Copies one element of the same dtype, exactly.
  void copy(std::int64_t index, const ReferenceView& from, std::int64_t from_index) const {
    copy_element(bits(operand_.dtype), from.data_, from.offset(from_index), data_, offset(index));
  }
  DType dtype() const { return operand_.dtype; }
  void* data() const { return data_; }

 private:
  const Operand& operand_;
  void* data_;
};

// Copies all elements; exact where both dtypes are the same.
void load(const ReferenceView& from, Tensor& to);
// Copies all elements to those from `first` on; exact where both dtypes are the same.
void store(const Tensor& from, const ReferenceView& to, std::int64_t first = 0);

// Sums in double, one for each element of a view.
using ReferenceSums = IndexedVector<std::int64_t, double>;
void store(const ReferenceSums& from, const ReferenceView& to);

// The offset in elements of a logical index, under strides or blocked storage.
std::int64_t offset_of(const Operand& operand, std::int64_t index);

// A reference kernel from a function of views. Outputs that nobody reads are still computed, into
// scratch memory, so that the function need not check. Declines math that rounds operands: it is
// exact.
using ReferenceFunction =
    std::function<void(const std::vector<ReferenceView>& inputs,
                       const std::vector<ReferenceView>& outputs, const KernelCall& call)>;
Offer reference_offer(const Request& request, ReferenceFunction function);

}  // namespace narrowgauge
