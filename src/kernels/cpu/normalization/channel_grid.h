// SPDX-License-Identifier: Apache-2.0
// How kernels with a number per channel walk over NCHW, NHWC and blocked tensors. All become panels
// of rows; each row is a contiguous strip whose columns belong to channels in a fixed pattern. One
// vectorized loop over columns then serves every layout.
#pragma once

#include <cstdint>

#include "kernels/cpu/core/strip.h"

namespace narrowgauge::cpu {

// Element (o, c, i) lies at o * pitch + ((c / block) * inner + i) * block + c % block. NCHW: {N, C,
// H*W}; NHWC: {N*H*W, C, 1}, with the width of the wider buffer as pitch for a slice of channels;
// nChw16c: {N, C, H*W, 16}. `channels` is a multiple of `block`.
struct ChannelLayout {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t inner = 1;
  std::int64_t block = 1;

  std::int64_t slice() const { return channels * inner; }  // dense pitch
  std::int64_t size() const { return outer * slice(); }
  std::int64_t per_channel() const { return outer * inner; }
  bool is_dense(std::int64_t pitch) const { return pitch == 0 || outer == 1 || pitch == slice(); }
};

class ChannelGrid {
 public:
  // `dense`: every array has a dense pitch, so that slices may be joined.
  ChannelGrid(const ChannelLayout& layout, bool dense);

  struct Strip {
    std::int64_t offset, count;
  };
  // Rows [begin, end) of one panel; of the `width` columns, all rows have the first `least`.
  struct Chunk {
    std::int64_t panel, index, begin, end, width, least;
  };

  std::int64_t chunk_count() const { return panels_ * chunks_per_panel_; }
  std::int64_t chunks_per_panel() const { return chunks_per_panel_; }
  std::int64_t panels() const { return panels_; }
  std::int64_t grain() const;  // chunks that are worth a thread's while
  Chunk chunk(std::int64_t number) const;
  Strip strip(const Chunk& chunk, std::int64_t row, std::int64_t pitch) const;

  // The channels of a panel: [first_channel(p), first_channel(p) + channel_count(p)).
  std::int64_t panel_channels() const { return panel_channels_; }
  std::int64_t first_channel(std::int64_t panel) const { return panel * panel_channels_; }
  std::int64_t channel_count(std::int64_t panel) const;
  // Elements of each channel in a chunk; the same for all channels of the panel.
  std::int64_t elements_per_channel(const Chunk& chunk) const;

  // columns[j] = values[channel of column j], for the columns of a panel.
  void expand(std::int64_t panel, const float* values, float* columns) const;
  // Adds up the columns of each channel: sums[c], c counted from the panel's first channel.
  void fold_sums(const Chunk& chunk, const float* columns, float* sums) const;
  // Joins means and sums of squared deviations of the columns over the chunk's rows, per channel.
  void fold_moments(const Chunk& chunk, const float* column_mean, const float* column_m2,
                    float* mean, float* m2) const;

 private:
  std::int64_t rows() const { return outer_ * steps_; }
  std::int64_t panel_width(std::int64_t panel) const;
  std::int64_t full_rows(const Chunk& chunk) const;

  std::int64_t channels_, slice_;
  std::int64_t outer_;           // slices that lie a pitch apart
  std::int64_t panels_;          // independent ranges of channels
  std::int64_t panel_step_;      // elements from one panel to the next in a slice
  std::int64_t run_;             // contiguous elements of a panel in a slice
  std::int64_t width_;           // columns: a run is cut into strips of this length
  std::int64_t steps_;           // strips of a run
  std::int64_t period_;          // columns after which the channels repeat
  std::int64_t repeat_;          // neighbouring columns of one channel
  std::int64_t panel_channels_;  // of every panel but the last
  std::int64_t rows_per_chunk_, chunks_per_panel_;
};

}  // namespace narrowgauge::cpu
