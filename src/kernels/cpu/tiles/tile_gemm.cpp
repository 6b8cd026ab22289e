// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/tiles/tile_gemm.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "base/machine/cpu.h"
#include "base/threads/parallel.h"
#include "kernels/cpu/contraction/contraction_parts.h"
#include "kernels/cpu/contraction/matmul_operands.h"
#include "kernels/cpu/convert/convert.h"
#include "kernels/cpu/core/strip.h"
#include "kernels/cpu/tiles/tile_gemm_plan.h"
#include "tensor/dtype_sets.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t gemm_block = 32;
constexpr std::int64_t gemm_sums_bytes = gemm_block * gemm_block * 4;
constexpr std::int64_t panel_bytes = 32 << 10;              // of L1: the part of B that stays there
constexpr std::int64_t whole_panel_bytes = 48 << 10;        // the same, all of the contraction
constexpr std::int64_t near_row_bytes = 1 << 20;            // of L2: rows of A
constexpr std::int64_t streamed_product_bytes = 1'000'000;  // larger results go past the caches

std::int64_t width(DType dtype) { return dtype == DType::f32 ? 4 : 2; }

// Cuts `count` into equal parts of at most `most`.
std::int64_t even_part(std::int64_t count, std::int64_t most) {
  return ceil_divide(count, ceil_divide(count, std::max<std::int64_t>(1, most)));
}

TileSource source_of(const View& view, bool is_a) {
  const std::size_t rank = view.dims.size(), outer = is_a ? rank - 2 : rank - 1,
                    depth = is_a ? rank - 1 : rank - 2;
  // Along an axis of one element any step will do.
  const std::int64_t depth_step = view.dims[depth] == 1 ? 1 : view.strides[depth];
  return {view.dtype, view.dims[outer], view.dims[depth], view.strides[outer], depth_step};
}

struct Matrices {
  std::int64_t a, b, y;  // bytes from the first
};

class TileGemm {
 public:
  TileGemm(const MatMulViews& views, const ContractionOptions& options,
           const TileEpilogue& epilogue)
      : operands_(matmul_operands(views)), bias_(views.bias), epilogue_(epilogue) {
    plan_.activation = epilogue.activation;
    plan_.a = source_of(operands_.a, true);
    plan_.b = source_of(operands_.b, false);
    const View& y = operands_.y;
    plan_.y = {y.dtype, plan_.a.outer, plan_.b.outer, y.strides[y.strides.size() - 2]};
    plan_.planes = plan_.a.dtype == DType::bf16 ? 1 : 2;
    plan_.steps = ceil_divide(plan_.a.depth, gemm_block);
    row_blocks_ = ceil_divide(plan_.y.rows, gemm_block);
    column_blocks_ = ceil_divide(plan_.y.columns, gemm_block);
    for (std::size_t axis = 0; axis < operands_.batch_rank(); ++axis) batch_ *= y.dims[axis];
    choose();
    packs_ahead_ = batch_ == 1 && std::ranges::count(options.lasting, 1) > 0;
    plan_.shared_b = plan_.shared_b || packs_ahead_;
    row_pieces_ = ceil_divide(row_blocks_, plan_.row_blocks);
    column_pieces_ = ceil_divide(column_blocks_, plan_.column_blocks);
    workers_ = std::min<std::int64_t>(pieces(), options.threads);
  }

  std::int64_t workspace() const {
    return bias_bytes() + column_sum_bytes() + shared_a_bytes() + own_b_bytes() +
           workers_ * buffer_bytes();
  }
  std::int64_t packed_bytes() const { return packs_ahead_ ? shared_b_bytes() : 0; }
  std::string format() const {
    return concat("tiles of ", plan_.b.dtype, ' ', plan_.b.depth, '*', plan_.b.depth_step, ' ',
                  plan_.b.outer, '*', plan_.b.outer_step, " in chunks of ", plan_.chunk);
  }
  void pack(const void* b, std::byte* packed) const { pack_shared(amx::TileRole::b, b, packed); }

  void run(const Call& call) const {
    auto* const workspace = static_cast<std::byte*>(call.workspace);
    auto* const bias = reinterpret_cast<float*>(workspace);
    auto* const column_sums = reinterpret_cast<float*>(workspace + bias_bytes());
    std::byte* const shared_a = workspace + bias_bytes() + column_sum_bytes();
    std::byte* const own_b = shared_a + shared_a_bytes();
    const std::byte* const shared_b = packs_ahead_ ? call.packed : own_b;
    load_bias(call, bias);
    if (plan_.shared_a) pack_shared(amx::TileRole::a, call.inputs[0], shared_a);
    if (own_b_bytes() > 0) pack_shared(amx::TileRole::b, call.inputs[1], own_b);
    std::atomic<std::int64_t> next = 0, flushed = 0;
    parallel_for(workers_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t worker = begin; worker < end; ++worker) {
        const TileBuffers buffers = buffers_at(own_b + own_b_bytes() + worker * buffer_bytes());
        flushed += amx::multiply_pieces(plan_, buffers, [&](TileGemmPiece& piece) {
          const std::int64_t i = next++;
          if (i < pieces()) piece = piece_of(i, call, {shared_a, shared_b, bias, column_sums});
          return i < pieces();
        });
      }
    });
    if (sums_columns() && call.outputs[1]) join_column_sums(column_sums, call.outputs[1]);
    if (call.flushed) std::atomic_ref(*call.flushed).fetch_add(flushed, std::memory_order_relaxed);
  }

 private:
  std::int64_t pieces() const { return batch_ * row_pieces_ * column_pieces_; }
  std::int64_t bias_bytes() const { return column_blocks_ * gemm_block * 4; }
  bool sums_columns() const { return epilogue_.activation == TileActivation::gelu_gradient; }
  std::int64_t column_sum_bytes() const {
    return sums_columns() ? row_blocks_ * plan_.padded_columns() * 4 : 0;
  }
  std::int64_t shared_a_bytes() const {
    return plan_.shared_a ? row_blocks_ * plan_.steps * plan_.step_bytes() : 0;
  }
  std::int64_t shared_b_bytes() const {
    return plan_.shared_b ? column_blocks_ * plan_.steps * plan_.step_bytes() : 0;
  }
  std::int64_t own_b_bytes() const { return packs_ahead_ ? 0 : shared_b_bytes(); }
  std::int64_t a_bytes() const {
    return plan_.shared_a ? 0 : plan_.row_blocks * plan_.chunk * plan_.step_bytes();
  }
  std::int64_t b_bytes() const { return plan_.shared_b ? 0 : plan_.run * plan_.step_bytes(); }
  std::int64_t sum_blocks() const {
    return plan_.row_blocks * (plan_.one_chunk() ? 1 : plan_.column_blocks);
  }
  std::int64_t buffer_bytes() const {
    return a_bytes() + b_bytes() + sum_blocks() * gemm_sums_bytes;
  }

  TileBuffers buffers_at(std::byte* at) const {
    return {at, at + a_bytes(), reinterpret_cast<float*>(at + a_bytes() + b_bytes())};
  }

  // If the whole contraction of enough rows fits into L2, these rows stay there while B, packed
  // once, streams past. Else sums stay there; B is packed once if enough rows share it, or piece by
  // piece, or both operands are packed once.
  void choose() {
    plan_.run = even_part(plan_.steps, panel_bytes / plan_.step_bytes());
    const std::int64_t rows_in_cache = near_row_bytes / (plan_.steps * plan_.step_bytes());
    if (rows_in_cache >= 5) {
      plan_.chunk = plan_.steps;
      // Lets an activation hide behind the whole contraction, not only its last run.
      if (plan_.activation != TileActivation::none &&
          plan_.steps * plan_.step_bytes() <= whole_panel_bytes)
        plan_.run = plan_.steps;
      plan_.shared_b = batch_ == 1 && row_blocks_ >= 16;
      plan_.row_blocks = even_part(row_blocks_, std::min<std::int64_t>(rows_in_cache, 16));
      plan_.column_blocks = plan_.shared_b ? column_blocks_ : even_part(column_blocks_, 12);
    } else {
      plan_.chunk = plan_.run;
      plan_.shared_b = batch_ == 1 && row_blocks_ >= 128;
      plan_.row_blocks = even_part(row_blocks_, plan_.shared_b ? 8 : 12);
      plan_.column_blocks = even_part(column_blocks_, 24);
      if (shares_both()) return share_both();
      if (ceil_divide(row_blocks_, plan_.row_blocks) * ceil_divide(column_blocks_, 24) < 4)
        plan_.column_blocks = even_part(column_blocks_, 12);
    }
  }

  // Whether to pack both operands once: if both lie across the contraction, as in a weight
  // gradient, packing is expensive, and a piece's rows and columns are short runs in memory. Packed
  // runs are long, and the hardware prefetches them.
  bool shares_both() const {
    constexpr std::int64_t least_blocks = 16, most_bytes = 96 << 20;
    const std::int64_t bytes = (row_blocks_ + column_blocks_) * plan_.steps * plan_.step_bytes();
    return batch_ == 1 && !plan_.a.along_depth() && !plan_.b.along_depth() &&
           std::min(row_blocks_, column_blocks_) >= least_blocks && bytes <= most_bytes;
  }
  void share_both() {
    plan_.shared_a = plan_.shared_b = true;
    plan_.row_blocks = even_part(row_blocks_, row_blocks_ < 48 ? 8 : 12);
    plan_.column_blocks = even_part(column_blocks_, 12);
  }

  void load_bias(const Call& call, float* bias) const {
    const std::int64_t columns = plan_.y.columns;
    std::fill_n(bias, column_blocks_ * gemm_block, 0.0F);
    if (!bias_) return;
    if (bias_->strides[0] == 1 || columns == 1)
      return widen_row(bias_->dtype, call.inputs[2], bias, columns);
    for (std::int64_t i = 0; i < columns; ++i)
      widen_row(bias_->dtype, at_offset(call.inputs[2], bias_->dtype, i * bias_->strides[0]),
                bias + i, 1);
  }

  // Packs in the order of memory, by all threads.
  void pack_shared(amx::TileRole role, const void* matrix, std::byte* packed) const {
    const bool is_a = role == amx::TileRole::a;
    const TileSource& source = is_a ? plan_.a : plan_.b;
    const std::int64_t outers = is_a ? row_blocks_ : column_blocks_;
    const auto pack = [&](const TileRange& range) {
      const std::int64_t chunk = range.step_begin / plan_.chunk * plan_.chunk;
      amx::pack_tiles(source, role, plan_.planes, static_cast<const std::byte*>(matrix), range,
                      packed + plan_.packed_at(outers, range.outer_begin, range.step_begin),
                      std::min(plan_.chunk, plan_.steps - chunk));
    };
    if (!source.along_depth())
      return parallel_for(plan_.steps, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t step = begin; step < end; ++step) pack({0, outers, step, step + 1});
      });
    parallel_for(outers, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t step = 0; step < plan_.steps; step += plan_.chunk)
        pack({begin, end, step, std::min(step + plan_.chunk, plan_.steps)});
    });
  }

  // Adds the column sums of all blocks of rows in their order.
  void join_column_sums(const float* partial, void* result) const {
    const Array sums{result, epilogue_.column_sums};
    parallel_for(plan_.y.columns, strip_length, [&](std::int64_t begin, std::int64_t end) {
      std::array<double, strip_length> sum{};
      alignas(64) std::array<float, strip_length> strip;
      const auto count = static_cast<std::size_t>(end - begin);
      for (std::int64_t block_row = 0; block_row < row_blocks_; ++block_row)
        for (std::size_t j = 0; j < count; ++j)
          sum[j] += double(partial[block_row * plan_.padded_columns() + begin + std::int64_t(j)]);
      for (std::size_t j = 0; j < count; ++j) strip[j] = static_cast<float>(sum[j]);
      store_strip(sums, begin, end - begin, strip.data());
    });
  }

  Matrices matrices_of(std::int64_t batch) const {
    Matrices at{};
    for (std::size_t axis = operands_.batch_rank(); axis-- > 0;) {
      const std::int64_t place = batch % operands_.y.dims[axis];
      batch /= operands_.y.dims[axis];
      if (operands_.a.dims[axis] > 1) at.a += place * operands_.a.strides[axis];
      if (operands_.b.dims[axis] > 1) at.b += place * operands_.b.strides[axis];
      at.y += place * operands_.y.strides[axis];
    }
    return {at.a * width(plan_.a.dtype), at.b * width(plan_.b.dtype), at.y * width(plan_.y.dtype)};
  }

  std::byte* beside_of(const Call& call) const {
    if (epilogue_.activation == TileActivation::gelu)
      return static_cast<std::byte*>(call.outputs[1]);
    // The inputs are only read.
    return sums_columns() ? static_cast<std::byte*>(const_cast<void*>(call.inputs[3])) : nullptr;
  }

  // Parts of the workspace.
  struct Shared {
    const std::byte *a, *b;
    const float* bias;
    float* column_sums;
  };

  TileGemmPiece piece_of(std::int64_t i, const Call& call, const Shared& shared) const {
    const Matrices at = matrices_of(i / (row_pieces_ * column_pieces_));
    const std::int64_t row = i / column_pieces_ % row_pieces_ * plan_.row_blocks;
    const std::int64_t column = i % column_pieces_ * plan_.column_blocks;
    auto* const y = static_cast<std::byte*>(call.outputs[0]) + at.y;
    const std::int64_t bytes = batch_ * plan_.y.rows * plan_.y.columns * width(plan_.y.dtype);
    std::byte* const beside = beside_of(call);
    const bool aligned = reinterpret_cast<std::uintptr_t>(y) % 64 == 0 &&
                         reinterpret_cast<std::uintptr_t>(beside) % 64 == 0 &&
                         plan_.y.row_step * width(plan_.y.dtype) % 64 == 0;
    return {static_cast<const std::byte*>(call.inputs[0]) + at.a,
            static_cast<const std::byte*>(call.inputs[1]) + at.b,
            shared.a,
            shared.b,
            y,
            beside,
            sums_columns() ? shared.column_sums : nullptr,
            shared.bias,
            row,
            std::min(plan_.row_blocks, row_blocks_ - row),
            column,
            std::min(plan_.column_blocks, column_blocks_ - column),
            aligned && y != beside && bytes >= streamed_product_bytes};
  }

  MatMulOperands operands_;
  std::optional<View> bias_;
  TileEpilogue epilogue_;
  TileGemmPlan plan_;
  bool packs_ahead_ = false;  // B
  std::int64_t row_blocks_ = 0, column_blocks_ = 0, batch_ = 1;
  std::int64_t row_pieces_ = 0, column_pieces_ = 0, workers_ = 0;
};

}  // namespace

std::string tile_gemm_reason(const MatMulViews& views, Isa isa) {
  if (std::string reason = tile_isa_reason(isa); !reason.empty()) return reason;
  const View &a = views.a, &b = views.b, &y = views.y;
  if (a.dtype != b.dtype || !is_f32_or_narrow(a.dtype) || !is_f32_or_narrow(y.dtype))
    return concat("operands of ", a.dtype, " and ", b.dtype, ", result of ", y.dtype);
  if (views.bias && !is_f32_or_narrow(views.bias->dtype))
    return concat("bias of ", views.bias->dtype);
  const std::int64_t rows = y.dims[y.dims.size() - 2], columns = y.dims.back(),
                     depth = a.dims.back();
  if (rows < gemm_block || columns < gemm_block || depth < gemm_block)
    return concat("a product of ", rows, "x", depth, " and ", depth, "x", columns,
                  " leaves tiles empty");
  if (element_count(y.dims) == 0) return "nothing to compute";
  if (y.strides.back() != 1) return "neighbours of the result lie apart";
  return {};
}

std::string tile_epilogue_reason(const MatMulViews& views, const TileEpilogue& epilogue) {
  if (epilogue.activation == TileActivation::none) return {};
  if (views.y.dims.size() != 2) return "an activation of more than one product";
  if (views.a.dtype != DType::bf16 || views.y.dtype != DType::bf16)
    return concat("an activation of ", views.a.dtype, " to ", views.y.dtype);
  return is_f32_or_narrow(epilogue.column_sums) ? "" : concat("sums of ", epilogue.column_sums);
}

Prepared prepare_tile_gemm(const MatMulViews& views, const ContractionOptions& options) {
  return prepare_tile_gemm(views, options, {});
}

Prepared prepare_tile_gemm(const MatMulViews& views, const ContractionOptions& options,
                           const TileEpilogue& epilogue) {
  check_matmul_shapes(views);
  std::string reason = tile_gemm_reason(views, isa());
  if (reason.empty()) reason = tile_epilogue_reason(views, epilogue);
  require(reason.empty(), "tile gemm: ", reason);
  ContractionOptions settled = options;
  if (settled.threads == 0) settled.threads = thread_count();
  const auto gemm = std::make_shared<const TileGemm>(views, settled, epilogue);
  Prepared prepared;
  prepared.implementation = views.a.dtype == DType::bf16 ? "amx tiles" : "amx tiles, bf16x3";
  prepared.facts = tile_facts(views.a.dtype);
  prepared.workspace = gemm->workspace();
  prepared.run = [gemm](const Call& call) { gemm->run(call); };
  if (gemm->packed_bytes() > 0)
    prepared.packed = {
        gemm->format(), gemm->packed_bytes(), {1}, [gemm](const void* const* from, std::byte* to) {
          gemm->pack(from[1], to);
        }};
  return prepared;
}

}  // namespace narrowgauge::cpu
