// SPDX-License-Identifier: Apache-2.0
// wmma/sparse.h under nvcc: PTX's mma.sp::ordered_metadata (PTX ISA 8.5, sm_80 and later). Which
// element lies in which register of which thread is the table of PTX ISA's fragments of mma.sp and
// mma for m16n8: with group g = lane / 4, t = lane mod 4 and w elements in a register, register r
// of a holds row g + 8 (r mod 2) from column w (t + 4 (r / 2)) on, register r of b column g from
// row w (t + 4 r) on, and element i of an accumulator row g + 8 (i / 2), column 2 t + i mod 2.
#pragma once

#if defined(__CUDACC__)

#include <mma.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "narrowgauge/wmma/launch_cuda.h"
#include "narrowgauge/wmma/sparse_layout.h"

namespace narrowgauge::wmma {
inline namespace on_device {

namespace sparse_registers {

template <class T>
struct Storage {
  using type = T;
};
template <>
struct Storage<::nvcuda::wmma::precision::tf32> {
  using type = float;
};

__device__ inline int lane() { return thread_rank() % 32; }

struct Position {
  int row, column;
};
template <class Use, int Width>
__device__ inline Position position(int i) {
  const int g = lane() / 4, t = lane() % 4, r = i / Width, j = i % Width;
  if constexpr (std::is_same_v<Use, ::nvcuda::wmma::matrix_a>)
    return {g + 8 * (r % 2), Width * (t + 4 * (r / 2)) + j};
  else if constexpr (std::is_same_v<Use, ::nvcuda::wmma::matrix_b>)
    return {Width * (t + 4 * r) + j, g};
  else
    return {g + 8 * (i / 2), 2 * t + i % 2};
}

}  // namespace sparse_registers

template <class Use, int K, class T>
class sparse_fragment {
 public:
  using element_type = T;
  using storage_element_type = typename sparse_registers::Storage<T>::type;
  static constexpr bool is_accumulator = std::is_same_v<Use, ::nvcuda::wmma::accumulator>;
  static constexpr int width =
      is_accumulator ? 1 : 4 / static_cast<int>(sizeof(storage_element_type));
  enum { num_elements = is_accumulator ? 4 : K / 4 };

  alignas(8) storage_element_type x[num_elements];
};

template <int K, class T>
struct sparse_metadata {
  std::uint32_t x[1];
};

namespace sparse_registers {

template <class Use, int K, class T, class P>
__device__ void load(sparse_fragment<Use, K, T>& f, const P* p, unsigned ldm, bool is_row_major) {
  for (int i = 0; i < f.num_elements; ++i) {
    const Position at = position<Use, sparse_fragment<Use, K, T>::width>(i);
    const unsigned line = is_row_major ? at.row : at.column;
    f.x[i] = p[line * ldm + (is_row_major ? at.column : at.row)];
  }
}

#define NG_MMA_SP_2(shape, types, D, d_type, saturate)                                      \
  asm volatile("mma.sp::ordered_metadata.sync.aligned." shape ".row.col" saturate "." types \
               " {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%8,%9,%10,%11}, %12, %13;"               \
               : "=" d_type(D[0]), "=" d_type(D[1]), "=" d_type(D[2]), "=" d_type(D[3])     \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), d_type(c[0]), d_type(c[1]),    \
                 d_type(c[2]), d_type(c[3]), "r"(metadata), "n"(Selector))
#define NG_MMA_SP_4(shape, types, D, d_type, saturate)                                             \
  asm volatile("mma.sp::ordered_metadata.sync.aligned." shape ".row.col" saturate "." types        \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%12,%13,%14,%15}, %16, %17;"      \
               : "=" d_type(D[0]), "=" d_type(D[1]), "=" d_type(D[2]), "=" d_type(D[3])            \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]),      \
                 "r"(b[3]), d_type(c[0]), d_type(c[1]), d_type(c[2]), d_type(c[3]), "r"(metadata), \
                 "n"(Selector))

template <int Selector, int K, class T>
__device__ void multiply(float* d, const std::uint32_t* a, const std::uint32_t* b, const float* c,
                         std::uint32_t metadata) {
  if constexpr (std::is_same_v<T, half> && K == 16)
    NG_MMA_SP_2("m16n8k16", "f32.f16.f16.f32", d, "f", "");
  else if constexpr (std::is_same_v<T, half>)
    NG_MMA_SP_4("m16n8k32", "f32.f16.f16.f32", d, "f", "");
  else if constexpr (std::is_same_v<T, bfloat16> && K == 16)
    NG_MMA_SP_2("m16n8k16", "f32.bf16.bf16.f32", d, "f", "");
  else if constexpr (std::is_same_v<T, bfloat16>)
    NG_MMA_SP_4("m16n8k32", "f32.bf16.bf16.f32", d, "f", "");
  else if constexpr (K == 8)
    NG_MMA_SP_2("m16n8k8", "f32.tf32.tf32.f32", d, "f", "");
  else
    NG_MMA_SP_4("m16n8k16", "f32.tf32.tf32.f32", d, "f", "");
}

template <int Selector, int K, class T>
__device__ void multiply(int* d, const std::uint32_t* a, const std::uint32_t* b, const int* c,
                         std::uint32_t metadata) {
  if constexpr (std::is_same_v<T, signed char> && K == 32)
    NG_MMA_SP_2("m16n8k32", "s32.s8.s8.s32", d, "r", "");
  else if constexpr (std::is_same_v<T, signed char>)
    NG_MMA_SP_4("m16n8k64", "s32.s8.s8.s32", d, "r", "");
  else if constexpr (K == 32)
    NG_MMA_SP_2("m16n8k32", "s32.u8.u8.s32", d, "r", "");
  else
    NG_MMA_SP_4("m16n8k64", "s32.u8.u8.s32", d, "r", "");
}
template <int Selector, int K, class T>
__device__ void multiply_saturating(int* d, const std::uint32_t* a, const std::uint32_t* b,
                                    const int* c, std::uint32_t metadata) {
  if constexpr (std::is_same_v<T, signed char> && K == 32)
    NG_MMA_SP_2("m16n8k32", "s32.s8.s8.s32", d, "r", ".satfinite");
  else if constexpr (std::is_same_v<T, signed char>)
    NG_MMA_SP_4("m16n8k64", "s32.s8.s8.s32", d, "r", ".satfinite");
  else if constexpr (K == 32)
    NG_MMA_SP_2("m16n8k32", "s32.u8.u8.s32", d, "r", ".satfinite");
  else
    NG_MMA_SP_4("m16n8k64", "s32.u8.u8.s32", d, "r", ".satfinite");
}
#undef NG_MMA_SP_2
#undef NG_MMA_SP_4

// Accumulators of half: two in a register.
template <int Selector, int K>
__device__ void multiply_half(std::uint32_t* d, const std::uint32_t* a, const std::uint32_t* b,
                              const std::uint32_t* c, std::uint32_t metadata) {
  if constexpr (K == 16)
    asm volatile(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
        " {%0,%1}, {%2,%3}, {%4,%5}, {%6,%7}, %8, %9;"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(metadata),
          "n"(Selector));
  else
    asm volatile(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16"
        " {%0,%1}, {%2,%3,%4,%5}, {%6,%7,%8,%9}, {%10,%11}, %12, %13;"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),
          "r"(c[0]), "r"(c[1]), "r"(metadata), "n"(Selector));
}

}  // namespace sparse_registers

template <int K, class T>
__device__ void load_matrix_sync(sparse_fragment<::nvcuda::wmma::matrix_a, K, T>& a,
                                 const typename sparse_registers::Storage<T>::type* p,
                                 unsigned ldm) {
  sparse_registers::load(a, p, ldm, true);
}
template <int K, class T>
__device__ void load_matrix_sync(sparse_fragment<::nvcuda::wmma::matrix_b, K, T>& b,
                                 const typename sparse_registers::Storage<T>::type* p, unsigned ldm,
                                 ::nvcuda::wmma::layout_t layout) {
  sparse_registers::load(b, p, ldm, layout == ::nvcuda::wmma::mem_row_major);
}
template <int K, class T>
__device__ void load_matrix_sync(sparse_fragment<::nvcuda::wmma::accumulator, K, T>& c, const T* p,
                                 unsigned ldm, ::nvcuda::wmma::layout_t layout) {
  sparse_registers::load(c, p, ldm, layout == ::nvcuda::wmma::mem_row_major);
}
template <int K, class T>
__device__ void store_matrix_sync(T* p, const sparse_fragment<::nvcuda::wmma::accumulator, K, T>& c,
                                  unsigned ldm, ::nvcuda::wmma::layout_t layout) {
  const bool is_row_major = layout == ::nvcuda::wmma::mem_row_major;
  for (int i = 0; i < c.num_elements; ++i) {
    const auto at = sparse_registers::position<::nvcuda::wmma::accumulator, 1>(i);
    const unsigned line = is_row_major ? at.row : at.column;
    p[line * ldm + (is_row_major ? at.column : at.row)] = c.x[i];
  }
}
template <class Use, int K, class T>
__device__ void fill_fragment(sparse_fragment<Use, K, T>& f,
                              const typename sparse_registers::Storage<T>::type& value) {
  for (int i = 0; i < f.num_elements; ++i) f.x[i] = value;
}
template <int K, class T>
__device__ void load_metadata_sync(sparse_metadata<K, T>& metadata, const std::uint32_t* words) {
  metadata.x[0] = words[sparse_registers::lane()];
}

template <int Selector = 0, int K, class T, class C>
__device__ void mma_sp_sync(sparse_fragment<::nvcuda::wmma::accumulator, K, C>& d,
                            const sparse_fragment<::nvcuda::wmma::matrix_a, K, T>& a,
                            const sparse_fragment<::nvcuda::wmma::matrix_b, K, T>& b,
                            const sparse_fragment<::nvcuda::wmma::accumulator, K, C>& c,
                            const sparse_metadata<K, T>& metadata, bool satf = false) {
  static_assert(Selector >= 0 && Selector < sparse::Shape<K, T>::selectors,
                "wmma::mma_sp_sync: this shape has fewer selectors");
  std::uint32_t left[4] = {}, right[4] = {};
  memcpy(left, a.x, sizeof(a.x));
  memcpy(right, b.x, sizeof(b.x));
  if constexpr (std::is_same_v<C, half>) {
    std::uint32_t sums[2], result[2];
    memcpy(sums, c.x, sizeof(sums));
    sparse_registers::multiply_half<Selector, K>(result, left, right, sums, metadata.x[0]);
    memcpy(d.x, result, sizeof(result));
  } else if constexpr (std::is_same_v<C, int>) {
    if (satf)
      sparse_registers::multiply_saturating<Selector, K, T>(d.x, left, right, c.x, metadata.x[0]);
    else
      sparse_registers::multiply<Selector, K, T>(d.x, left, right, c.x, metadata.x[0]);
  } else {
    sparse_registers::multiply<Selector, K, T>(d.x, left, right, c.x, metadata.x[0]);
  }
}

}  // namespace on_device
}  // namespace narrowgauge::wmma
#endif
