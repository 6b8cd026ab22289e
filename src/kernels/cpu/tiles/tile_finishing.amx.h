// SPDX-License-Identifier: Apache-2.0
// What is done with a block of 32 x 32 sums of a matrix product: it is added up, or stored in the
// result with the bias and an activation, between the instructions of the next block. Only for
// *.amx.cpp.
#pragma once

#ifdef __AMX_BF16__

#include "kernels/cpu/amx/tiles.amx.h"
#include "kernels/cpu/lanes/gelu_avx512.h"
#include "kernels/cpu/tiles/tile_gemm_plan.h"

namespace narrowgauge::cpu::amx {

inline constexpr std::int64_t block = 32;
inline constexpr __mmask32 whole = ~__mmask32{};

// What is done with a block of sums.
//   add: to those of earlier runs   set: into the result   set_total: both
enum class Finish { nothing, add, set, set_total };

// Properties of the whole result.
struct Target {
  DType dtype = DType::f32;
  std::int64_t row_bytes = 0;
  bool stream = false;
};

struct Pending {
  const float* sums = nullptr;
  float* total = nullptr;
  std::byte* to = nullptr;
  std::byte* beside = nullptr;   // of an activation: its arguments; may be null for gelu
  float* column_sums = nullptr;  // of the results, where they are wanted
  const float* bias = nullptr;
  std::int64_t rows = 0;  // of the result
  __mmask32 columns = 0;
  Target target;
};

[[gnu::always_inline]] inline void store_bf16(const Target& target, std::byte* to, __m512 low,
                                              __m512 high, __mmask32 columns) {
  const __m512i row = to_bf16(low, high);
  if (target.stream && columns == whole)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), row);
  else
    _mm512_mask_storeu_epi16(to, columns, row);
}

[[gnu::always_inline]] inline void store_row(const Target& target, std::byte* to, __m512 low,
                                             __m512 high, __mmask32 columns,
                                             std::int64_t& flushed) {
  if (target.dtype == DType::bf16) {
    store_bf16(target, to, low, high, columns);
  } else if (target.dtype == DType::f32) {
    if (target.stream && columns == whole) {
      _mm512_stream_ps(reinterpret_cast<float*>(to), low);
      _mm512_stream_ps(reinterpret_cast<float*>(to) + 16, high);
    } else {
      _mm512_mask_storeu_ps(to, static_cast<__mmask16>(columns), low);
      _mm512_mask_storeu_ps(to + 64, static_cast<__mmask16>(columns >> 16), high);
    }
  } else {
    constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const __m512i row = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtps_ph(low, nearest)),
                                           _mm512_cvtps_ph(high, nearest), 1);
    const __m512i size = _mm512_and_si512(row, _mm512_set1_epi16(0x7fff));
    const __mmask32 zeros = _mm512_mask_cmpeq_epi16_mask(columns, size, _mm512_setzero_si512());
    if (zeros) {
      const __mmask32 values =
          _mm512_kunpackw(_mm512_cmp_ps_mask(high, _mm512_setzero_ps(), _CMP_NEQ_UQ),
                          _mm512_cmp_ps_mask(low, _mm512_setzero_ps(), _CMP_NEQ_UQ));
      flushed += __builtin_popcount(zeros & values);
    }
    _mm512_mask_storeu_epi16(to, columns, row);
  }
}

// The work left for a block of sums, done a few rows at a time.
template <Finish finish, TileActivation activation>
class Finishing {
 public:
  explicit Finishing(const Pending& pending)
      : sums_(pending.sums),
        total_(pending.total),
        to_(pending.to),
        beside_(pending.beside),
        column_sums_(pending.column_sums),
        row_bytes_(pending.target.row_bytes),
        target_(pending.target),
        rows_(pending.rows),
        columns_(pending.columns) {
    if constexpr (finish == Finish::set || finish == Finish::set_total) {
      low_ = _mm512_loadu_ps(pending.bias);
      high_ = _mm512_loadu_ps(pending.bias + 16);
    }
  }
  [[gnu::always_inline]] void step(std::int64_t rows) {
    if constexpr (finish != Finish::nothing) {
      const std::int64_t count = rows < left_ ? rows : left_;
      left_ -= count;
      std::int64_t i = 0;
      if constexpr (activation != TileActivation::none)
        for (; i + 2 <= count && rows_ >= 2; i += 2) activate<2>();
      for (; i < count; ++i) one_row();
    }
  }
  // Does the rest; returns how many results became zero in f16.
  [[gnu::always_inline]] std::int64_t rest() {
    step(left_);
    if (activation == TileActivation::gelu_gradient && column_sums_) {
      _mm512_storeu_ps(column_sums_, low_sum_);
      _mm512_storeu_ps(column_sums_ + 16, high_sum_);
    }
    return flushed_;
  }

 private:
  [[gnu::always_inline]] void one_row() {
    __m512 low = _mm512_load_ps(sums_), high = _mm512_load_ps(sums_ + 16);
    if constexpr (finish != Finish::set) {
      low = _mm512_add_ps(_mm512_load_ps(total_), low);
      high = _mm512_add_ps(_mm512_load_ps(total_ + 16), high);
    }
    if constexpr (finish == Finish::add) {
      _mm512_store_ps(total_, low);
      _mm512_store_ps(total_ + 16, high);
    } else if (rows_ > 0) {
      if constexpr (activation != TileActivation::none) return activate<1>();
      --rows_;
      store_row(target_, to_, _mm512_add_ps(low, low_), _mm512_add_ps(high, high_), columns_,
                flushed_);
      to_ += row_bytes_;
    }
    sums_ += block;
    total_ += block;
  }

  // Finishes the next rows, whose results and arguments are bf16.
  template <int rows>
  [[gnu::always_inline]] void activate() {
    __m512 y[2 * rows];
#pragma GCC unroll 4
    for (int v = 0; v < 2 * rows; ++v) {
      y[v] = _mm512_load_ps(sums_ + 16 * v);
      if constexpr (finish == Finish::set_total)
        y[v] = _mm512_add_ps(_mm512_load_ps(total_ + 16 * v), y[v]);
      y[v] = _mm512_add_ps(y[v], v % 2 == 0 ? low_ : high_);
    }
    if constexpr (activation == TileActivation::gelu)
      through_gelu<rows>(y);
    else
      back_through_gelu<rows>(y);
#pragma GCC unroll 2
    for (int r = 0; r < rows; ++r, to_ += row_bytes_)
      store_bf16(target_, to_, y[2 * r], y[2 * r + 1], columns_);
    sums_ += rows * block;
    total_ += rows * block;
    rows_ -= rows;
  }

  template <int rows>
  [[gnu::always_inline]] void through_gelu(__m512 (&y)[2 * rows]) {
    if (keeps_)
#pragma GCC unroll 2
      for (int r = 0; r < rows; ++r, beside_ += row_bytes_)
        store_bf16(target_, beside_, y[2 * r], y[2 * r + 1], columns_);
    avx512::gelu(y);
  }
  template <int rows>
  [[gnu::always_inline]] void back_through_gelu(__m512 (&y)[2 * rows]) {
    __m512 x[2 * rows];
#pragma GCC unroll 2
    for (int r = 0; r < rows; ++r, beside_ += row_bytes_) {
      const __m512i both = _mm512_maskz_loadu_epi16(columns_, beside_);
      x[2 * r] = widened(_mm512_castsi512_si256(both));
      x[2 * r + 1] = widened(_mm512_extracti64x4_epi64(both, 1));
    }
    avx512::gelu_gradient(x, y);
#pragma GCC unroll 2
    for (int r = 0; r < rows; ++r) {
      low_sum_ = _mm512_add_ps(low_sum_, y[2 * r]);
      high_sum_ = _mm512_add_ps(high_sum_, y[2 * r + 1]);
    }
  }
  static __m512 widened(__m256i bits) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }

  const float* sums_;
  float* total_;
  std::byte *to_, *beside_;
  float* column_sums_;
  bool keeps_ = beside_ != nullptr;
  std::int64_t row_bytes_;
  Target target_;
  std::int64_t rows_, left_ = block, flushed_ = 0;
  __mmask32 columns_;
  __m512 low_{}, high_{}, low_sum_{}, high_sum_{};
};

}  // namespace narrowgauge::cpu::amx

#endif
