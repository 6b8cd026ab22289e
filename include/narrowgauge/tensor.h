// SPDX-License-Identifier: Apache-2.0
// Dimensions (numbers or expressions of symbols), shapes, tensor types, and the host tensor.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "narrowgauge/dtype.h"
#include "narrowgauge/error.h"
#include "narrowgauge/export.h"
#include "narrowgauge/held.h"

namespace narrowgauge {

struct DimExpression;                                 // tensor/dim.cpp
struct DimAccess;                                     // tensor/dim.cpp
using Binding = std::map<std::string, std::int64_t>;  // symbol -> size

// A dimension: a number, or an expression of symbols such as "N" or "(T+3)/2" (floor division).
// Expressions are kept in a canonical form, so that equal ones compare equal.
class NG_API Dim {
 public:
  Dim(std::int64_t value = 0) : value_(value) {}  // NOLINT: a number is a dimension
  static Dim symbol(std::string name);      // letters, digits and '_', not starting with a digit
  static Dim parse(std::string_view text);  // throws UsageError

  bool is_known() const { return !expression_; }  // a number, without symbols
  std::int64_t value() const;                     // throws UsageError while symbols are unbound
  // The size with numbers for symbols; those that the binding lacks stay. Throws UsageError for a
  // size that is negative or divided by zero.
  Dim bind(const Binding& binding) const;
  std::string text() const;                 // "3", "N", "(T+3)/2"
  bool operator==(const Dim& other) const;  // equal for every binding

  // Throws UsageError where the numbers do not fit 64 bits.
  friend NG_API Dim operator+(const Dim& a, const Dim& b);
  friend NG_API Dim operator-(const Dim& a, const Dim& b);  // the same
  friend NG_API Dim operator*(const Dim& a, const Dim& b);  // the same
  friend NG_API Dim operator/(const Dim& a, const Dim& b);  // floor; UsageError for b = 0

 private:
  friend struct DimAccess;
  std::int64_t value_ = 0;
  std::shared_ptr<const DimExpression> expression_;
};

using Shape = std::vector<Dim>;          // dimensions that may hold symbols
using Dims = std::vector<std::int64_t>;  // dimensions that are numbers

NG_API void append_text(std::string& out, const Dim& dim);
NG_API bool is_known(const Shape& shape);    // without symbols
NG_API Dims known_dims(const Shape& shape);  // throws UsageError while symbols are unbound
NG_API Shape bind(const Shape& shape, const Binding& binding);  // each dimension, as Dim::bind()
NG_API Dim element_count(const Shape& shape);                   // the product; 1 without dimensions
// Throws UsageError beyond 64 bits.
NG_API std::int64_t element_count(std::span<const std::int64_t> dims);
NG_API Dims dense_strides(std::span<const std::int64_t> dims);  // row-major, in elements

// Logical shape in ONNX's order, and number format.
struct NG_API TensorType {
  DType dtype = DType::f32;  // of the elements
  Shape shape;               // [] for a scalar
  bool operator==(const TensorType&) const = default;
  static TensorType parse(std::string_view text);  // "f32[N,3,32,32]"; throws UsageError
};
NG_API void append_text(std::string& out, const TensorType& type);
using TensorTypes = std::vector<TensorType>;  // one for each input, output or column

template <class T>
struct dtype_of;  // `dtype_of<float>::value` is DType::f32
#define NG_DTYPE_OF(type, name)                 \
  template <>                                   \
  struct dtype_of<type> {                       \
    static constexpr DType value = DType::name; \
  };
NG_DTYPE_OF(double, f64)
NG_DTYPE_OF(float, f32)
NG_DTYPE_OF(f16, f16)
NG_DTYPE_OF(bf16, bf16)
NG_DTYPE_OF(f8e4m3fn, f8e4m3fn)
NG_DTYPE_OF(f8e5m2, f8e5m2)
NG_DTYPE_OF(f8e4m3fnuz, f8e4m3fnuz)
NG_DTYPE_OF(f8e5m2fnuz, f8e5m2fnuz)
NG_DTYPE_OF(f8e8m0, f8e8m0)
NG_DTYPE_OF(std::int64_t, i64)
NG_DTYPE_OF(std::int32_t, i32)
NG_DTYPE_OF(std::int16_t, i16)
NG_DTYPE_OF(std::int8_t, i8)
NG_DTYPE_OF(std::uint64_t, u64)
NG_DTYPE_OF(std::uint32_t, u32)
NG_DTYPE_OF(std::uint16_t, u16)
NG_DTYPE_OF(std::uint8_t, u8)
NG_DTYPE_OF(bool, boolean)
#undef NG_DTYPE_OF

// A dense row-major array in host memory, 64-byte aligned but for memory of over(). Copies share
// the memory; clone() copies it. Any number of threads may read one memory at once; whoever writes
// it has it alone. Of a tensor that was moved from, all members but assignment and owns_memory()
// throw UsageError.
class NG_API Tensor {
 public:
  static constexpr std::int64_t most_elements = std::int64_t{1} << 56;  // their bits fit 64 bits
  static constexpr std::size_t alignment = 64;                          // bytes, of own memory

  Tensor() = default;                          // f32[0]
  ~Tensor() = default;                         // the last that shares the memory frees it
  Tensor(const Tensor&) = default;             // shares the memory
  Tensor& operator=(const Tensor&) = default;  // the same
  Tensor(Tensor&& other) noexcept = default;   // the other was moved from then
  // Leaves the other as one that was moved from; a tensor that is moved onto itself stays as it is.
  Tensor& operator=(Tensor&& other) noexcept {
    if (this == &other) return *this;
    dtype_ = other.dtype_;
    dims_ = std::move(other.dims_);
    data_ = std::move(other.data_);
    return *this;
  }
  Tensor(DType dtype, Dims dims);  // zero-filled; throws UsageError for a negative dimension
  static Tensor full(DType dtype, Dims dims, double value);  // every element rounded from `value`
  // A tensor of one element without dimensions.
  static Tensor scalar(DType dtype, double value) { return full(dtype, {}, value); }
  // Copies the values; throws UsageError unless there are as many as the dimensions say.
  template <class T>
  static Tensor from(Dims dims, std::span<const T> values) {
    return from_bytes(dtype_of<T>::value, std::move(dims), values.data(), values.size());
  }
  // Copies the values, as from a span.
  template <class T>
  static Tensor from(Dims dims, const std::vector<T>& values) {
    return from(std::move(dims), std::span<const T>(values));
  }

  // A tensor over memory that holds the elements already, in the packed form of data(), and that
  // the tensor and its copies hold on to. It may lie anywhere; where elements would straddle their
  // own size, as an f32 at an odd address, the tensor has a copy, and owns_memory() says so. Throws
  // UsageError for a negative dimension, and for null unless there are no elements.
  static Tensor over(std::shared_ptr<std::byte[]> memory, DType dtype, Dims dims);
  bool owns_memory() const;  // not that of over()

  DType dtype() const { return here().dtype_; }                     // of the elements
  const Dims& dims() const { return here().dims_; }                 // the shape
  std::int64_t size() const { return element_count(dims()); }       // elements
  std::int64_t bytes() const { return bytes_for(size(), dtype_); }  // of the elements, packed
  TensorType type() const;                                          // dtype and shape

  // The elements; throws UsageError for another dtype.
  template <class T>
  std::span<const T> values() const {
    check(dtype_of<T>::value);
    return {reinterpret_cast<const T*>(data()), static_cast<std::size_t>(size())};
  }
  // The elements, to be changed in all copies; throws UsageError for another dtype.
  template <class T>
  std::span<T> values() {
    check(dtype_of<T>::value);
    return {reinterpret_cast<T*>(data()), static_cast<std::size_t>(size())};
  }
  const std::byte* data() const { return here().data_.get(); }  // the first byte
  std::byte* data() { return here().data_.get(); }              // the first byte

  // Any dtype, flat index; exact but for i64 and u64 beyond 2^53: values() has those exactly.
  double at(std::int64_t index) const;
  void set(std::int64_t index, double value);  // rounds to nearest even, saturates integers
  Tensor clone() const;                        // in memory of its own
  // Nearest even; integers saturate, and are exact from one integer dtype to another.
  Tensor cast(DType dtype) const;
  Tensor reshaped(Dims dims) const;     // shares the memory; throws UsageError if sizes differ
  bool same_bits(const Tensor&) const;  // dtype, dims and every bit

 private:
  static Tensor from_bytes(DType, Dims, const void* values, std::size_t count);
  // A scalar without memory is what a move leaves; no other tensor looks so.
  const Tensor& here() const {
    if (!data_ && dims_.empty()) [[unlikely]]
      refuse_moved_from("tensor");
    return *this;
  }
  void check(DType wanted) const;
  void check(std::int64_t index) const;

  DType dtype_ = DType::f32;
  Dims dims_{0};
  std::shared_ptr<std::byte[]> data_;
};

}  // namespace narrowgauge
