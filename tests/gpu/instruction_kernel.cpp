// SPDX-License-Identifier: Apache-2.0
// The instructions as inline PTX (PTX ISA 8.5), on tiles in the memory of the GPU.
//
// Where each element lies is from the figures of fragments there, which are one rule for all
// formats: with group g = lane / 4 and t = lane mod 4, register r of a holds word t + 4 (r / 2) of
// row g + 8 (r mod 2), register r of b word t + 4 r of column g, and element i of c row
// g + 8 (i / 2), column 2 t + i mod 2. Words have 32 bits, or 64 for f64.
#include <cuda_runtime.h>

#include <stdexcept>
#include <type_traits>

#include "instruction.h"

namespace narrowgauge::test {
namespace {

template <class Word>
struct Registers {
  Word a[8], b[4], c[4], d[4];
  std::uint32_t metadata;
  std::uint64_t descriptor;  // of b in shared memory
};

#define NG_4(kind, x) kind(x[0]), kind(x[1]), kind(x[2]), kind(x[3])
#define NG_2(kind, x) kind(x[0]), kind(x[1])

#define NG_MMA_424(text)                                                         \
  asm volatile(text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};" \
               : NG_4("=r", r.d)                                                 \
               : NG_4("r", r.a), NG_2("r", r.b), NG_4("r", r.c))
#define NG_MMA_422(text)                                         \
  asm volatile(text " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};" \
               : NG_2("=r", r.d)                                 \
               : NG_4("r", r.a), NG_2("r", r.b), NG_2("r", r.c))
#define NG_MMA_214(text)                                             \
  asm volatile(text " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};" \
               : NG_4("=r", r.d)                                     \
               : NG_2("r", r.a), "r"(r.b[0]), NG_4("r", r.c))
#define NG_MMA_212(text)                                \
  asm volatile(text " {%0,%1}, {%2,%3}, {%4}, {%5,%6};" \
               : NG_2("=r", r.d)                        \
               : NG_2("r", r.a), "r"(r.b[0]), NG_2("r", r.c))
#define NG_MMA_F64_214(text)                                         \
  asm volatile(text " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};" \
               : NG_4("=l", r.d)                                     \
               : NG_2("l", r.a), "l"(r.b[0]), NG_4("l", r.c))
#define NG_MMA_F64_424(text)                                                     \
  asm volatile(text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};" \
               : NG_4("=l", r.d)                                                 \
               : NG_4("l", r.a), NG_2("l", r.b), NG_4("l", r.c))
#define NG_MMA_F64_844(text)                                                     \
  asm volatile(text                                                              \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}," \
               " {%16,%17,%18,%19};"                                             \
               : NG_4("=l", r.d)                                                 \
               : NG_4("l", r.a), NG_4("l", (r.a + 4)), NG_4("l", r.b), NG_4("l", r.c))
#define NG_SPARSE_224(text)                                                      \
  asm volatile(text " {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%8,%9,%10,%11}, %12, 0;" \
               : NG_4("=r", r.d)                                                 \
               : NG_2("r", r.a), NG_2("r", r.b), NG_4("r", r.c), "r"(r.metadata))
#define NG_SPARSE_222(text)                                       \
  asm volatile(text " {%0,%1}, {%2,%3}, {%4,%5}, {%6,%7}, %8, 0;" \
               : NG_2("=r", r.d)                                  \
               : NG_2("r", r.a), NG_2("r", r.b), NG_2("r", r.c), "r"(r.metadata))
#define NG_SPARSE_444(text)                                                                      \
  asm volatile(text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%12,%13,%14,%15}, %16, 0;" \
               : NG_4("=r", r.d)                                                                 \
               : NG_4("r", r.a), NG_4("r", r.b), NG_4("r", r.c), "r"(r.metadata))
#define NG_SPARSE_442(text)                                                      \
  asm volatile(text " {%0,%1}, {%2,%3,%4,%5}, {%6,%7,%8,%9}, {%10,%11}, %12, 0;" \
               : NG_2("=r", r.d)                                                 \
               : NG_4("r", r.a), NG_4("r", r.b), NG_2("r", r.c), "r"(r.metadata))
// d is c before: wgmma adds to it. The operands after the predicate are signs and layouts.
#define NG_WGMMA(text, results, after)                                                        \
  asm volatile("{.reg .pred adds;\nsetp.eq.u32 adds, 0, 0;\nwgmma.fence.sync.aligned;\n" text  \
               " " results ", adds" after                                                      \
               ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;}"
#define NG_WGMMA_OF_4(text, after)                          \
  NG_WGMMA(text, "{%0,%1,%2,%3}, {%4,%5,%6,%7}, %8", after)                                    \
               : NG_4("+r", r.d)                                                               \
               : NG_4("r", r.a), "l"(r.descriptor)                                             \
               : "memory")
#define NG_WGMMA_OF_2(text, after)                    \
  NG_WGMMA(text, "{%0,%1}, {%2,%3,%4,%5}, %6", after)                                          \
               : NG_2("+r", r.d)                                                               \
               : NG_4("r", r.a), "l"(r.descriptor)                                             \
               : "memory")
#define NG_WGMMA_4_TRANSPOSABLE(text) NG_WGMMA_OF_4(text, ", 1, 1, 0")
#define NG_WGMMA_2_TRANSPOSABLE(text) NG_WGMMA_OF_2(text, ", 1, 1, 0")
#define NG_WGMMA_4(text) NG_WGMMA_OF_4(text, ", 1, 1")
#define NG_WGMMA_2(text) NG_WGMMA_OF_2(text, ", 1, 1")
#define NG_WGMMA_INTEGER(text) NG_WGMMA_OF_4(text, "")

#define NG_PTX_mma(shape, types) "mma.sync.aligned." shape ".row.col." types
#define NG_PTX_sparse(shape, types) "mma.sp::ordered_metadata.sync.aligned." shape ".row.col." types
#define NG_PTX_wgmma(shape, types) "wgmma.mma_async.sync.aligned." shape "." types

template <UnitFormat Operand>
using WordOf = std::conditional_t<Operand == UnitFormat::f64, std::uint64_t, std::uint32_t>;

// An instruction, and the words of what a thread finds where.
#define NG_OPERATION(id, kind_of_it, shape, types, operand, result_format, depth_of_it, \
                     capability, form)                                                  \
  struct id {                                                                           \
    using Word = WordOf<UnitFormat::operand>;                                           \
    static constexpr Instruction info{                                                  \
        "",          Kind::kind_of_it, UnitFormat::operand, UnitFormat::result_format,  \
        depth_of_it, capability};                                                       \
    static constexpr Kind kind = info.kind;                                             \
    static constexpr UnitFormat result = info.result;                                   \
    static constexpr int rows = info.rows();                                            \
    static constexpr int row_words =                                                    \
        info.row_depth() * bytes_of(UnitFormat::operand) / int{sizeof(Word)};           \
    static constexpr int column_words =                                                 \
        info.depth * bytes_of(UnitFormat::operand) / int{sizeof(Word)};                 \
    static __device__ void execute(Registers<Word>& r) {                                \
      NG_##form(NG_PTX_##kind_of_it(shape, types));                                     \
    }                                                                                   \
  };
NG_INSTRUCTIONS(NG_OPERATION)
#undef NG_OPERATION

// The descriptor of eight columns of 16 bytes in shared memory, then the next 16 bytes of each, not
// swizzled.
__device__ std::uint64_t describe(const void* shared) {
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(shared));
  constexpr std::uint64_t step = 128 >> 4;
  return (address & 0x3ffff) >> 4 | step << 16 | step << 32;
}

// A warp multiplies each tile, or four for wgmma.
template <class Op>
__global__ void multiply_tiles(const typename Op::Word* a, const typename Op::Word* b,
                               const std::uint32_t* metadata, const std::uint64_t* c,
                               std::uint64_t* d, int count) {
  using Word = typename Op::Word;
  constexpr bool is_group = Op::kind == Kind::wgmma;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int tile = is_group ? blockIdx.x : 4 * blockIdx.x + warp;
  if (tile >= count) return;
  const int first_row = tile * Op::rows + (is_group ? 16 * warp : 0);
  a += first_row * Op::row_words;
  b += tile * tile_columns * Op::column_words;

  Registers<Word> r{};
  for (int i = 0; i < Op::row_words / 2; ++i)
    r.a[i] = a[(g + 8 * (i % 2)) * Op::row_words + t + 4 * (i / 2)];
  if constexpr (is_group) {
    __shared__ alignas(128) std::uint32_t shared[64];
    const int i = threadIdx.x;
    if (i < 64) shared[i] = b[i % 32 / 4 * 8 + i / 32 * 4 + i % 4];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    r.descriptor = describe(shared);
  } else {
    for (int i = 0; i < Op::column_words / 4; ++i) r.b[i] = b[g * Op::column_words + t + 4 * i];
  }
  if constexpr (Op::kind == Kind::sparse) r.metadata = metadata[tile * 32 + lane];
  const auto place = [&](int i) {
    return (first_row + g + 8 * (i / 2)) * tile_columns + 2 * t + i % 2;
  };
  constexpr bool is_half = Op::result == UnitFormat::f16;  // two in a register
  for (int i = 0; i < 4; ++i) {
    if constexpr (is_half)
      r.c[i / 2] |= static_cast<Word>(c[place(i)] << (16 * (i % 2)));
    else
      r.c[i] = static_cast<Word>(c[place(i)]);
  }
  for (int i = 0; i < 4; ++i) r.d[i] = r.c[i];
  Op::execute(r);
  for (int i = 0; i < 4; ++i)
    d[place(i)] = is_half ? r.d[i / 2] >> (16 * (i % 2)) & 0xffff : r.d[i];
}

void check(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

// A copy in the GPU's memory.
class OnDevice {
 public:
  template <class T>
  explicit OnDevice(std::span<T> host) {
    check(cudaMalloc(&data_, host.size_bytes() + 1));
    check(cudaMemcpy(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice));
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

template <class Op>
void run(const InstructionTiles& tiles) {
  using Word = const typename Op::Word;
  const OnDevice a(tiles.a), b(tiles.b), metadata(tiles.metadata), c(tiles.c), d(tiles.d);
  const int blocks = Op::kind == Kind::wgmma ? tiles.count : (tiles.count + 3) / 4;
  multiply_tiles<Op><<<blocks, 128>>>(a.as<Word>(), b.as<Word>(), metadata.as<std::uint32_t>(),
                                      c.as<std::uint64_t>(), d.as<std::uint64_t>(), tiles.count);
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  check(cudaMemcpy(tiles.d.data(), d.as<void>(), tiles.d.size_bytes(), cudaMemcpyDeviceToHost));
}

#define NG_RUN(id, ...) run<id>,
constexpr void (*runs[])(const InstructionTiles&) = {NG_INSTRUCTIONS(NG_RUN)};
#undef NG_RUN

}  // namespace

void run_on_gpu(std::size_t instruction, const InstructionTiles& tiles) {
  runs[instruction](tiles);
}

int gpu_capability() {
  int count = 0, major = 0, minor = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  return 10 * major + minor;
}

}  // namespace narrowgauge::test
