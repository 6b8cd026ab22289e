// SPDX-License-Identifier: Apache-2.0
// Helpers of reference kernels: read and write any dtype as double, with any strides.
#pragma once

#include <functional>

#include "base/indexed_vector.h"
#include "narrowgauge/kernel.h"
#include "tensor/values.h"

namespace narrowgauge {

// An operand as doubles, addressed by its logical row-major index. integer() and
// set_integer() are exact for i64, where doubles lose bits beyond 2^53.
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
  std::int64_t integer(std::int64_t index) const;  // exact for i64
  void set_integer(std::int64_t index, std::int64_t value) const;
  // Copies one element of the same dtype, exactly.
  void copy(std::int64_t index, const ReferenceView& from, std::int64_t from_index) const {
    if (operand_.dtype == DType::i64)
      set_integer(index, from.integer(from_index));
    else
      set(index, from[from_index]);
  }
  DType dtype() const { return operand_.dtype; }

 private:
  const Operand& operand_;
  void* data_;
};

// Copies all elements; exact where both are i64.
void load(const ReferenceView& from, Tensor& to);
// Copies all elements to those from `first` on; exact where both are i64.
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
