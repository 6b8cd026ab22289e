// SPDX-License-Identifier: Apache-2.0
// Weights of a quantised convolution as panels of 16 columns, and the sums of the columns.
#pragma once

#include "kernels/cpu/bytes/quantized_rows.h"
#include "kernels/cpu/contraction/contraction.h"
#include "kernels/cpu/core/work.h"

namespace narrowgauge::cpu {

class QuantizedWeights {
 public:
  // w [M, C / groups, kernel...], with any strides. Runs of `taps_in_run` taps begin with a group
  // each; 0: all taps are one run.
  QuantizedWeights(const View& w, std::int64_t groups, const QuantizedTier& tier,
                   std::int64_t taps_in_run = 0);

  std::int64_t in_group() const { return in_group_; }  // columns
  std::int64_t panels() const { return ceil_divide(in_group_, quantized_panel); }
  std::int64_t padded() const { return panels() * quantized_panel; }
  // Groups of neighbours of a sum.
  std::int64_t steps() const { return steps_; }
  std::int64_t bytes() const { return sums_at() + 4 * groups_ * padded(); }
  std::string format() const;

  // False: a tier that saturates would have to take more of them twice than there is room for, and
  // what is packed is of no use.
  [[nodiscard]] bool pack(const void* w, std::byte* packed) const;
  QuantizedColumns panel(const std::byte* packed, std::int64_t group, std::int64_t panel) const;
  std::int64_t panel_bytes() const {
    return tier_->saturates ? round_up(places_at() + 4 * (most_groups() + 1), 64) : places_at();
  }
  // The sums of each column's weights: [groups][padded()].
  const std::int32_t* sums(const std::byte* packed) const {
    return reinterpret_cast<const std::int32_t*>(packed + sums_at());
  }

 private:
  std::int64_t group_bytes() const { return tier_->group * quantized_panel; }
  std::int64_t most_groups() const { return tier_->saturates ? steps() + steps() / 3 : steps(); }
  // Where the places of a panel's groups begin, behind the groups. They and their number are there
  // only for tiers that saturate, where a group may be there twice.
  std::int64_t places_at() const { return most_groups() * group_bytes(); }
  std::int64_t sums_at() const { return round_up(groups_ * panels() * panel_bytes(), 64); }
  void pack_plain(const std::uint8_t* w, std::int64_t index, std::byte* panel,
                  std::int32_t* sums) const;
  bool pack_panel(const std::uint8_t* w, std::int64_t index, std::byte* packed) const;

  View w_;
  std::int64_t groups_;
  const QuantizedTier* tier_;
  std::int64_t in_group_, channels_, steps_;
  std::vector<std::int64_t> tap_at_;  // where each tap of a column lies
  std::int64_t taps_in_run_;
};

}  // namespace narrowgauge::cpu
