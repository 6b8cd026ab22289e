// SPDX-License-Identifier: Apache-2.0
// Matrix instructions of GPUs on many tiles at once: what is compared with the models of
// matrix_unit.h.
#pragma once

#include <narrowgauge/matrix_unit.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace narrowgauge::test {

// mma multiplies what a warp holds, sparse does so with half of a left out (mma.sp), and wgmma is
// for four warps and reads b from shared memory.
enum class Kind : std::uint8_t { mma, sparse, wgmma };

constexpr int bytes_of(UnitFormat format) {
  using enum UnitFormat;
  if (format == f64) return 8;
  if (format == f32 || format == tf32 || format == s32) return 4;
  return format == f16 || format == bf16 ? 2 : 1;
}

struct Instruction {
  std::string_view name;       // as PTX has it, shortened
  Kind kind;                   // who executes it
  UnitFormat operand, result;  // of a and b; of c and d
  int depth;                   // along k, with what is left out
  int capability;              // the least, as 90; that alone for wgmma

  constexpr int rows() const { return kind == Kind::wgmma ? 64 : 16; }
  // The depth of a row of a, as it is stored.
  constexpr int row_depth() const { return kind == Kind::sparse ? depth / 2 : depth; }
};

inline constexpr int tile_columns = 8;  // of b, c and d

// Tiles one after another: rows of a and columns of b, along k; 32 words of metadata where the kind
// is sparse; c and d row by row, each element in 64 bits.
struct InstructionTiles {
  std::span<const std::byte> a, b;
  std::span<const std::uint32_t> metadata;
  std::span<const std::uint64_t> c;
  std::span<std::uint64_t> d;
  int count;
};

// Runs the instruction at this position of instruction_list on the GPU. Throws std::runtime_error
// with CUDA's message.
void run_on_gpu(std::size_t instruction, const InstructionTiles& tiles);

// 90 for compute capability 9.0; 0 where there is no GPU.
int gpu_capability();

// X(id, kind, shape, types as PTX orders them, operand, result, depth, capability, form): the form
// counts the registers of a, b and d, or of d for wgmma.
#define NG_INSTRUCTIONS(X)                                                                   \
  X(F16K8, mma, "m16n8k8", "f32.f16.f16.f32", f16, f32, 8, 80, MMA_214)                      \
  X(F16K16, mma, "m16n8k16", "f32.f16.f16.f32", f16, f32, 16, 80, MMA_424)                   \
  X(F16K8InF16, mma, "m16n8k8", "f16.f16.f16.f16", f16, f16, 8, 80, MMA_212)                 \
  X(F16K16InF16, mma, "m16n8k16", "f16.f16.f16.f16", f16, f16, 16, 80, MMA_422)              \
  X(Bf16K8, mma, "m16n8k8", "f32.bf16.bf16.f32", bf16, f32, 8, 80, MMA_214)                  \
  X(Bf16K16, mma, "m16n8k16", "f32.bf16.bf16.f32", bf16, f32, 16, 80, MMA_424)               \
  X(Tf32K4, mma, "m16n8k4", "f32.tf32.tf32.f32", tf32, f32, 4, 80, MMA_214)                  \
  X(Tf32K8, mma, "m16n8k8", "f32.tf32.tf32.f32", tf32, f32, 8, 80, MMA_424)                  \
  X(S8K32, mma, "m16n8k32", "s32.s8.s8.s32", s8, s32, 32, 80, MMA_424)                       \
  X(U8K32, mma, "m16n8k32", "s32.u8.u8.s32", u8, s32, 32, 80, MMA_424)                       \
  X(F64K4, mma, "m16n8k4", "f64.f64.f64.f64", f64, f64, 4, 90, MMA_F64_214)                  \
  X(F64K8, mma, "m16n8k8", "f64.f64.f64.f64", f64, f64, 8, 90, MMA_F64_424)                  \
  X(F64K16, mma, "m16n8k16", "f64.f64.f64.f64", f64, f64, 16, 90, MMA_F64_844)               \
  X(E4m3K16, mma, "m16n8k16", "f32.e4m3.e4m3.f32", f8e4m3, f32, 16, 89, MMA_214)             \
  X(E4m3K32, mma, "m16n8k32", "f32.e4m3.e4m3.f32", f8e4m3, f32, 32, 89, MMA_424)             \
  X(E5m2K16, mma, "m16n8k16", "f32.e5m2.e5m2.f32", f8e5m2, f32, 16, 89, MMA_214)             \
  X(E5m2K32, mma, "m16n8k32", "f32.e5m2.e5m2.f32", f8e5m2, f32, 32, 89, MMA_424)             \
  X(E4m3K32InF16, mma, "m16n8k32", "f16.e4m3.e4m3.f16", f8e4m3, f16, 32, 89, MMA_422)        \
  X(E5m2K32InF16, mma, "m16n8k32", "f16.e5m2.e5m2.f16", f8e5m2, f16, 32, 89, MMA_422)        \
  X(SparseF16K16, sparse, "m16n8k16", "f32.f16.f16.f32", f16, f32, 16, 80, SPARSE_224)       \
  X(SparseF16K32, sparse, "m16n8k32", "f32.f16.f16.f32", f16, f32, 32, 80, SPARSE_444)       \
  X(SparseF16K16InF16, sparse, "m16n8k16", "f16.f16.f16.f16", f16, f16, 16, 80, SPARSE_222)  \
  X(SparseF16K32InF16, sparse, "m16n8k32", "f16.f16.f16.f16", f16, f16, 32, 80, SPARSE_442)  \
  X(SparseBf16K16, sparse, "m16n8k16", "f32.bf16.bf16.f32", bf16, f32, 16, 80, SPARSE_224)   \
  X(SparseBf16K32, sparse, "m16n8k32", "f32.bf16.bf16.f32", bf16, f32, 32, 80, SPARSE_444)   \
  X(SparseTf32K8, sparse, "m16n8k8", "f32.tf32.tf32.f32", tf32, f32, 8, 80, SPARSE_224)      \
  X(SparseTf32K16, sparse, "m16n8k16", "f32.tf32.tf32.f32", tf32, f32, 16, 80, SPARSE_444)   \
  X(SparseS8K32, sparse, "m16n8k32", "s32.s8.s8.s32", s8, s32, 32, 80, SPARSE_224)           \
  X(SparseS8K64, sparse, "m16n8k64", "s32.s8.s8.s32", s8, s32, 64, 80, SPARSE_444)           \
  X(SparseU8K32, sparse, "m16n8k32", "s32.u8.u8.s32", u8, s32, 32, 80, SPARSE_224)           \
  X(SparseU8K64, sparse, "m16n8k64", "s32.u8.u8.s32", u8, s32, 64, 80, SPARSE_444)           \
  X(SparseE4m3K64, sparse, "m16n8k64", "f32.e4m3.e4m3.f32", f8e4m3, f32, 64, 89, SPARSE_444) \
  X(SparseE5m2K64, sparse, "m16n8k64", "f32.e5m2.e5m2.f32", f8e5m2, f32, 64, 89, SPARSE_444) \
  X(GroupF16, wgmma, "m64n8k16", "f32.f16.f16", f16, f32, 16, 90, WGMMA_4_TRANSPOSABLE)      \
  X(GroupF16InF16, wgmma, "m64n8k16", "f16.f16.f16", f16, f16, 16, 90, WGMMA_2_TRANSPOSABLE) \
  X(GroupBf16, wgmma, "m64n8k16", "f32.bf16.bf16", bf16, f32, 16, 90, WGMMA_4_TRANSPOSABLE)  \
  X(GroupTf32, wgmma, "m64n8k8", "f32.tf32.tf32", tf32, f32, 8, 90, WGMMA_4)                 \
  X(GroupE4m3, wgmma, "m64n8k32", "f32.e4m3.e4m3", f8e4m3, f32, 32, 90, WGMMA_4)             \
  X(GroupE5m2, wgmma, "m64n8k32", "f32.e5m2.e5m2", f8e5m2, f32, 32, 90, WGMMA_4)             \
  X(GroupE4m3InF16, wgmma, "m64n8k32", "f16.e4m3.e4m3", f8e4m3, f16, 32, 90, WGMMA_2)        \
  X(GroupE5m2InF16, wgmma, "m64n8k32", "f16.e5m2.e5m2", f8e5m2, f16, 32, 90, WGMMA_2)        \
  X(GroupS8, wgmma, "m64n8k32", "s32.s8.s8", s8, s32, 32, 90, WGMMA_INTEGER)                 \
  X(GroupU8, wgmma, "m64n8k32", "s32.u8.u8", u8, s32, 32, 90, WGMMA_INTEGER)

#define NG_NAME_mma(shape, types) "mma." shape "." types
#define NG_NAME_sparse(shape, types) "mma.sp." shape "." types
#define NG_NAME_wgmma(shape, types) "wgmma." shape "." types
#define NG_INSTRUCTION(id, kind, shape, types, operand, result, depth, capability, form) \
  Instruction{NG_NAME_##kind(shape, types), Kind::kind, UnitFormat::operand,             \
              UnitFormat::result,           depth,      capability},
inline constexpr Instruction instruction_list[] = {NG_INSTRUCTIONS(NG_INSTRUCTION)};
#undef NG_INSTRUCTION

}  // namespace narrowgauge::test
