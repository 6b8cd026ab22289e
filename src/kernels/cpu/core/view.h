// SPDX-License-Identifier: Apache-2.0
// Strided views of raw memory, and the prepared kernel: it runs many times, allocates nothing large
// and takes its workspace from the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "narrowgauge/kernel.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge::cpu {

// `dims` in logical order (NCHW, OIHW, [.., M, K]); `strides` in elements, in the same order. A
// stride is 0 where a value repeats; a view that is written names every element once.
struct View {
  DType dtype = DType::f32;
  Dims dims;
  Dims strides;
};

View dense_view(DType dtype, const Dims& dims);          // row-major
View channels_last_view(DType dtype, const Dims& dims);  // [N, C, spatial...] kept as N spatial C
View slice(const View& view, int axis, std::int64_t size);  // the first `size` along an axis
// The first `size` along an axis of a dense view, stored densely with its axes in the same order.
View dense_slice(const View& view, int axis, std::int64_t size);
bool same_layout(const View& a, const View& b);  // equal dims, and strides where they matter
// Whether the elements lie as in the view of that name.
bool is_dense(const View& view);
bool is_channels_last(const View& view);

inline const void* at_offset(const void* data, DType dtype, std::int64_t elements) {
  return static_cast<const std::byte*>(data) + bytes_for(elements, dtype);
}
inline void* at_offset(void* data, DType dtype, std::int64_t elements) {
  return static_cast<std::byte*>(data) + bytes_for(elements, dtype);
}

struct Call {
  const void* const* inputs = nullptr;
  void* const* outputs = nullptr;
  void* workspace = nullptr;          // Prepared::workspace bytes, 64-byte aligned
  std::int64_t* flushed = nullptr;    // may be null; see Prepared
  const std::byte* packed = nullptr;  // what Packed::run made, 64-byte aligned
};

// The form in which Prepared::run reads constants, in the order that it wants; see
// narrowgauge::Packing.
struct Packed {
  std::string format;
  std::int64_t bytes = 0;
  std::vector<int> inputs;  // of Call::inputs
  std::function<void(const void* const* inputs, std::byte* packed)> run;
};

struct Prepared {
  std::string implementation;  // whose kernel, and how narrow formats are handled
  std::int64_t workspace = 0;  // bytes
  // May be called from several host threads, each with its own workspace. Adds to *flushed, in one
  // atomic step, how many results were not zero in f32 and became zero in f16.
  std::function<void(const Call&)> run;
  KernelFacts facts{};
  Packed packed{};
};

// Why kernels on AMX's tiles cannot run there; "" where they can.
inline std::string tile_isa_reason(Isa isa) {
  return isa == Isa::amx ? "" : concat("tiles need amx, this is ", name(isa));
}
// The facts of a kernel on AMX's tiles, which multiply bf16 as it is, f32 and f16 as three products
// of bf16.
inline KernelFacts tile_facts(DType operands) {
  return {.isa = Isa::amx, .way = operands == DType::bf16 ? Math::none : Math::bf16x3};
}

}  // namespace narrowgauge::cpu
