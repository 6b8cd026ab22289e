// SPDX-License-Identifier: Apache-2.0
#include "narrowgauge/tensor.h"

#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/files/memory.h"
#include "base/machine/floating_environment.h"
#include "tensor/values.h"

namespace narrowgauge {
namespace {

constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20;  // bytes

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

using Memory = std::shared_ptr<std::byte[]>;

// Memory from the heap; nullptr if there is none.
Memory take_small(std::size_t bytes) {
  void* memory = std::aligned_alloc(Tensor::alignment, bytes);
  if (memory) std::memset(memory, 0, bytes);
  return {static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); }};
}

// Fresh pages, which the kernel clears when they are touched first: by several threads, where these
// fill the tensor. Small pages, cleared one by one, would take longer than most initial values.
// nullptr if there is none.
Memory take_large(std::size_t bytes) {
  const std::size_t all = bytes + huge_page;
  void* const map = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(map);
  const auto address = reinterpret_cast<std::uintptr_t>(map);
  const std::size_t before = rounded_up(address, huge_page) - address;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + bytes, huge_page - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);
  return {begin + before, [bytes](std::byte* p) { munmap(p, bytes); }};
}

// All zero.
Memory allocate(DType dtype, const Dims& dims, std::int64_t bytes) {
  const auto refuse = [&](std::int64_t room) {
    refuse_memory({concat("a tensor ", dtype, dims), {{"", bytes}}}, room);
  };
  if (const auto room = too_little_for(bytes)) refuse(*room);
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  const bool large = wanted >= huge_page;
  Memory memory = large ? take_large(rounded_up(wanted, page))
                        : take_small(rounded_up(wanted, Tensor::alignment));
  if (!memory) refuse(obtainable_memory());
  return memory;
}

// Holds on to memory that somebody else made.
struct Holder {
  Memory memory;
  void operator()(std::byte*) const {}
};

// As FloatingEnvironment, for single elements: next to nothing where the caller's is the usual one,
// whose flags are then raised as by any cast.
class ElementEnvironment {
 public:
  ElementEnvironment() : callers_(_mm_getcsr()), changes_((callers_ & ~flags) != usual) {
    if (changes_) _mm_setcsr(usual);
  }
  ~ElementEnvironment() {
    if (changes_) _mm_setcsr(callers_);
  }
  ElementEnvironment(const ElementEnvironment&) = delete;
  ElementEnvironment& operator=(const ElementEnvironment&) = delete;

 private:
  static constexpr unsigned flags = 0x3f, usual = 0x1f80;  // of MXCSR
  unsigned callers_;
  bool changes_;
};

void check_dims(const Dims& dims) {
  for (const std::int64_t dim : dims)
    require(dim >= 0, "tensor: expected dimensions that are not negative, got ", dims);
  require(element_count(dims) <= Tensor::most_elements, "tensor: ", dims, " is too large");
}

}  // namespace

Tensor::Tensor(DType dtype, Dims dims) : dtype_(dtype), dims_(std::move(dims)) {
  check_dims(dims_);
  data_ = allocate(dtype_, dims_, bytes_for(element_count(dims_), dtype_));
}

Tensor Tensor::over(std::shared_ptr<std::byte[]> memory, DType dtype, Dims dims) {
  check_dims(dims);
  require(memory || element_count(dims) == 0, "tensor: expected memory for ", dtype, dims,
          ", got null");
  const auto element = static_cast<std::uintptr_t>(bytes_for(1, dtype));
  if (reinterpret_cast<std::uintptr_t>(memory.get()) % element != 0) {
    Tensor copy(dtype, std::move(dims));
    std::copy_n(memory.get(), copy.bytes(), copy.data());
    return copy;
  }
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  std::byte* const begin = memory.get();
  tensor.data_ = {begin, Holder{std::move(memory)}};
  return tensor;
}

bool Tensor::owns_memory() const { return std::get_deleter<Holder>(data_) == nullptr; }

Tensor Tensor::full(DType dtype, Dims dims, double value) {
  const FloatingEnvironment environment(Subnormals::keep);
  Tensor result(dtype, std::move(dims));
  if (dtype == DType::f32 && value == 0 && !std::signbit(value)) return result;  // it is that
  for (std::int64_t i = 0, count = result.size(); i < count; ++i)
    store_element(dtype, result.data(), i, value);
  return result;
}

Tensor Tensor::from_bytes(DType dtype, Dims dims, const void* values, std::size_t count) {
  check_dims(dims);
  require(static_cast<std::int64_t>(count) == element_count(dims), "tensor: expected ",
          element_count(dims), " values for ", dims, ", got ", count);
  Tensor result(dtype, std::move(dims));
  std::copy_n(static_cast<const std::byte*>(values), result.bytes(), result.data());
  return result;
}

TensorType Tensor::type() const { return {dtype(), Shape(dims_.begin(), dims_.end())}; }

void Tensor::check(DType wanted) const {
  require(dtype() == wanted, "tensor: its values are ", dtype_, ", not ", wanted);
}

void Tensor::check(std::int64_t index) const {
  if (index < 0 || index >= size())
    throw UsageError(concat("tensor: index ", index, " is outside ", type()));
}

double Tensor::at(std::int64_t index) const {
  check(index);
  const ElementEnvironment environment;
  return load_element(dtype_, data(), index);
}

void Tensor::set(std::int64_t index, double value) {
  check(index);
  const ElementEnvironment environment;
  store_element(dtype_, data(), index, value);
}

Tensor Tensor::clone() const {
  Tensor result(dtype(), dims_);
  std::copy_n(data(), bytes(), result.data());
  return result;
}

Tensor Tensor::cast(DType dtype) const {
  const FloatingEnvironment environment(Subnormals::keep);
  Tensor result(dtype, dims());
  convert_elements(dtype_, data(), dtype, result.data(), size());
  return result;
}

Tensor Tensor::reshaped(Dims dims) const {
  check_dims(dims);
  if (element_count(dims) != size())
    throw UsageError(concat("tensor: ", type(), " cannot be reshaped to ", dims));
  Tensor result = *this;
  result.dims_ = std::move(dims);
  return result;
}

// The bits that pad the last byte of packed elements do not count.
bool Tensor::same_bits(const Tensor& other) const {
  if (dtype() != other.dtype() || dims_ != other.dims_) return false;
  const std::int64_t used_bits = size() * bits(dtype_);
  const auto whole = static_cast<std::size_t>(used_bits / 8);
  if (whole > 0 && std::memcmp(data(), other.data(), whole) != 0) return false;
  if (used_bits % 8 == 0) return true;
  const std::byte used{static_cast<unsigned char>((1 << used_bits % 8) - 1)};
  return ((data()[whole] ^ other.data()[whole]) & used) == std::byte{0};
}

}  // namespace narrowgauge
