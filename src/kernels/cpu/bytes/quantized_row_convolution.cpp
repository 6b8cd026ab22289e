// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/bytes/quantized_row_convolution.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/cpu/bytes/quantized_operands.h"
#include "kernels/cpu/bytes/quantized_window.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {
namespace {

constexpr std::int64_t block_bytes = 256 << 10;    // of packed rows and what is made of them: of L2
constexpr std::int64_t near_bytes = 24 << 10;      // of weights: of L1
constexpr std::int64_t one_block_rows = 64;        // that stay one block: weights are read once
constexpr std::int64_t row_convolution_tasks = 4;  // for each thread
constexpr std::int64_t least_panels = 4;           // of a task, as each packs its rows

// Memory holds what is not packed ahead, and for each thread a slot of packed rows, their sums and
// which they are.
class RowConvolution {
 public:
  RowConvolution(const QuantizedTier& tier, const QuantizedViews& views,
                 const ConvolutionWindow& window, const QuantizedNumbers& numbers, int threads)
      : tier_(tier),
        views_(views),
        groups_(window.groups),
        window_(views.x.dims, views.w.dims, views.y.dims, window),
        operands_(tier, views, groups_, numbers),
        x_signed_(views.x.dtype == DType::i8) {
    direct_ = !tier_.wide && window_.is_x() && !x_signed_ && !operands_.needs_row_sums() &&
              window_.channels() % tier_.group == 0;
    choose(threads);
    slots_at_ = operands_.workspace();
    sums_at_ = direct_ ? 0 : round_up(block_rows_ * row_bytes(), 64);
    held_at_ = round_up(sums_at_ + 4 * block_rows_, 64);
    slot_bytes_ = held_at_ + 64;
  }

  std::int64_t workspace() const { return slots_at_ + workers_ * slot_bytes_; }
  const QuantizedTier& tier() const { return tier_; }
  const QuantizedOperands& operands() const { return operands_; }

  void run(const Call& call) const {
    auto* const memory = static_cast<std::byte*>(call.workspace);
    const Run run{call, operands_.ready(call, memory)};
    for (std::int64_t worker = 0; worker < workers_; ++worker)
      held(memory + slots_at_ + worker * slot_bytes_) = -1;
    const std::int64_t tasks = groups_ * row_blocks_ * column_blocks_;
    hand_out(tasks, workers_, [&](std::int64_t task, std::int64_t worker) {
      run_task(run, task, memory + slots_at_ + worker * slot_bytes_);
    });
  }

 private:
  struct Run {
    const Call& call;
    QuantizedOperands::Ready ready;
  };

  const QuantizedWeights& weights() const { return operands_.weights(); }
  std::int64_t row_bytes() const { return weights().steps() * 4; }

  void choose(int threads) {
    const std::int64_t rows = window_.rows(), panels = weights().panels();
    const std::int64_t result_bits =
        bits(views_.y.dtype) + (views_.residual ? bits(views_.residual->dtype) : 0);
    const std::int64_t each = row_bytes() + weights().in_group() * result_bits / 8;
    const std::int64_t fitting = std::max<std::int64_t>(block_bytes / each, tier_.rows);
    std::int64_t block = rows <= one_block_rows ? rows : std::min(rows, fitting);
    const std::int64_t wanted =
        threads > 1 ? ceil_divide(row_convolution_tasks * threads, groups_) : 1;
    // Rows are cut first, down to a few tiles, then columns.
    if (rows > one_block_rows)
      block = std::min(block, std::max(ceil_divide(rows, wanted), 4 * tier_.rows));
    row_tiles_ = ceil_divide(rows, tier_.rows);
    row_blocks_ = ceil_divide(row_tiles_, ceil_divide(block, tier_.rows));
    block_rows_ = ceil_divide(row_tiles_, row_blocks_) * tier_.rows;
    const std::int64_t parts = std::clamp<std::int64_t>(
        ceil_divide(wanted, row_blocks_), 1, std::max<std::int64_t>(panels / least_panels, 1));
    block_panels_ = round_up(ceil_divide(panels, parts), tier_.panels);
    column_blocks_ = ceil_divide(panels, block_panels_);
    workers_ = std::min<std::int64_t>(threads, groups_ * row_blocks_ * column_blocks_);
  }

  void run_task(const Run& run, std::int64_t task, std::byte* slot) const {
    const std::int64_t block = task / column_blocks_, group = block % groups_;
    const std::int64_t begin = first_row(block / groups_), end = first_row(block / groups_ + 1);
    const std::int64_t first = task % column_blocks_ * block_panels_;
    const std::int64_t last = std::min(first + block_panels_, weights().panels());
    auto* const sums = reinterpret_cast<std::int32_t*>(slot + sums_at_);
    const auto* const x = static_cast<const std::byte*>(run.call.inputs[quantized_x]);
    const std::byte* rows = x + begin * window_.channels();
    if (!direct_) {
      if (std::exchange(held(slot), block) != block) pack_rows(run, group, begin, end, slot);
      rows = slot;
    }
    const auto tile = [&](std::int64_t panel, std::int64_t row) {
      // While the first rows meet some panels, the weights of the next ones come nearer.
      const std::int64_t before = (row - begin) / tier_.rows, next = panel + tier_.panels + before;
      one_tile(
          run,
          {group, panel, std::min(tier_.panels, last - panel), row, std::min(tier_.rows, end - row),
           before < tier_.panels && next < last ? next : panel},
          rows + (row - begin) * row_bytes(), sums + (row - begin));
    };
    if ((last - first) * weights().panel_bytes() <= near_bytes) {
      for (std::int64_t row = begin; row < end; row += tier_.rows)
        for (std::int64_t panel = first; panel < last; panel += tier_.panels) tile(panel, row);
    } else {
      for (std::int64_t panel = first; panel < last; panel += tier_.panels)
        for (std::int64_t row = begin; row < end; row += tier_.rows) tile(panel, row);
    }
  }

  std::int64_t first_row(std::int64_t block) const {
    return std::min(block * row_tiles_ / row_blocks_ * tier_.rows, window_.rows());
  }
  // Which block's rows a slot holds; -1: none.
  std::int64_t& held(std::byte* slot) const {
    return *reinterpret_cast<std::int64_t*>(slot + held_at_);
  }
  void pack_rows(const Run& run, std::int64_t group, std::int64_t begin, std::int64_t end,
                 std::byte* slot) const {
    auto* const sums = reinterpret_cast<std::int32_t*>(slot + sums_at_);
    window_.pack(static_cast<const std::byte*>(run.call.inputs[quantized_x]), group, begin, end,
                 {&tier_, {x_signed_, run.ready.x_zero}, operands_.needs_row_sums()}, row_bytes(),
                 slot, sums);
    // The sums become those of x less its zero point, as the wide form has them.
    if (operands_.needs_row_sums() && !tier_.wide)
      for (std::int64_t row = 0; row < end - begin; ++row)
        sums[row] -= static_cast<std::int32_t>(window_.depth()) * run.ready.stored_zero;
  }

  struct Tile {
    std::int64_t group, panel, panels, row, rows, next;  // a panel that is wanted soon
  };

  void one_tile(const Run& run, const Tile& tile, const std::byte* rows,
                const std::int32_t* row_sums) const {
    alignas(64) std::int32_t sums[quantized_most_rows * quantized_most_panels * quantized_panel];
    const std::int64_t column = tile.panel * quantized_panel, in_group = weights().in_group();
    const std::int64_t listed = tile.group * weights().padded() + column;
    const std::int64_t width = tile.panels * quantized_panel;
    tier_.multiply({rows, row_bytes(), tile.rows,
                    weights().panel(run.ready.weights, tile.group, tile.panel), tile.panels,
                    weights().panel_bytes(), run.ready.starts ? run.ready.starts + listed : nullptr,
                    weights().panel(run.ready.weights, tile.group, tile.next).weights, sums});
    const std::int64_t pitch = groups_ * in_group;
    const std::int64_t at = tile.row * pitch + tile.group * in_group + column;
    const auto offset = [&](const void* data, DType dtype) {
      return static_cast<const std::byte*>(data) + at * bits(dtype) / 8;
    };
    finish_quantized(
        run.ready.finish,
        {tile.rows, listed, std::min(width, in_group - column), sums, row_sums, width,
         views_.residual ? offset(run.call.inputs[quantized_residual], views_.residual->dtype)
                         : nullptr,
         const_cast<std::byte*>(offset(run.call.outputs[0], views_.y.dtype)), pitch});
  }

  const QuantizedTier& tier_;
  QuantizedViews views_;
  std::int64_t groups_;
  QuantizedWindow window_;
  QuantizedOperands operands_;
  bool x_signed_, direct_ = false;
  std::int64_t row_tiles_ = 1, block_rows_ = 1, row_blocks_ = 1;
  std::int64_t block_panels_ = 1, column_blocks_ = 1;
  std::int64_t workers_ = 1;
  std::int64_t slots_at_ = 0;
  std::int64_t sums_at_ = 0, held_at_ = 0, slot_bytes_ = 0;  // in a slot
};

using Made = std::shared_ptr<const RowConvolution>;

Prepared prepared_for(const Made& made) {
  return {std::string(made->tier().name),
          made->workspace(),
          [made](const Call& call) { made->run(call); },
          {.isa = made->tier().isa}};
}

// Prepares for either of two tiers. What is packed begins with whether it is for `faster`, which
// does not take all weights.
Prepared prepare_either(const Made& faster, const Made& made) {
  constexpr std::int64_t head = 64;
  Prepared prepared = prepared_for(made);
  prepared.workspace = std::max(faster->workspace(), made->workspace());
  prepared.run = [faster, made](const Call& call) {
    Call inner = call;
    inner.packed += head;
    (*call.packed == std::byte{1} ? faster : made)->run(inner);
  };
  const std::int64_t bytes =
      head + std::max(faster->operands().packed_bytes(), made->operands().packed_bytes());
  prepared.packed = {
      concat(faster->operands().packed_format(), " or ", made->operands().packed_format()), bytes,
      made->operands().packed_inputs(),
      [faster, made, bytes](const void* const* inputs, std::byte* packed) {
        std::fill_n(packed, bytes, std::byte{0});
        const bool fast = faster->operands().pack(inputs, packed + head);
        if (!fast) {
          std::fill_n(packed, bytes, std::byte{0});
          (void)made->operands().pack(inputs, packed + head);
        }
        *packed = std::byte{fast};
      }};
  return prepared;
}

}  // namespace

Prepared prepare_quantized_rows(const QuantizedViews& views, const ConvolutionWindow& window,
                                const QuantizedNumbers& numbers, int threads) {
  const auto made_for = [&](const QuantizedTier& tier) {
    return std::make_shared<const RowConvolution>(tier, views, window, numbers, threads);
  };
  const Made made = made_for(quantized_tier());
  if (!views.w_lasts) return prepared_for(made);
  if (const QuantizedTier* const faster = quantized_saturating_tier())
    return prepare_either(made_for(*faster), made);
  Prepared prepared = prepared_for(made);
  prepared.packed = {made->operands().packed_format(), made->operands().packed_bytes(),
                     made->operands().packed_inputs(),
                     [made](const void* const* inputs, std::byte* packed) {
                       (void)made->operands().pack(inputs, packed);
                     }};
  return prepared;
}

}  // namespace narrowgauge::cpu
