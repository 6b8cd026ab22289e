// SPDX-License-Identifier: Apache-2.0
// What the attention engines share: loading and storing the rows of a head, and the steps on a row
// of scores between the products.
#pragma once

#include "kernels/cpu/attention/attention.h"

namespace narrowgauge::cpu {

inline constexpr std::int64_t attention_block = 32;  // queries at a time; keys and widths are
                                                     // padded to a multiple of it

struct RowRange {
  std::int64_t first, count;
};

// Loads rows of a head as f32 [attention_block multiple][pitch], 0 beyond the width and last row.
void load_head_rows(const AttentionProblem& problem, const AttentionInput& from, AttentionHead head,
                    RowRange rows, float* to);
// Stores rows [count][padded width] of one head; does nothing if the output is null.
void store_head_rows(const AttentionProblem& problem, const AttentionOutput& to, AttentionHead head,
                     RowRange rows, const float* from);

// The scores of one query while they become shares.
struct ScoreRow {
  float* scores = nullptr;              // products of q and k, unscaled
  const float* mask = nullptr;          // may be null
  const std::uint16_t* bits = nullptr;  // random, where there is dropout: those are kept that
  float below = 0;                      // are less than this
  float scale = 1, keep = 1;
  std::int64_t visible = 0;  // keys that the query sees
  std::int64_t padded = 0;   // numbers of the row; those that are not visible become 0
};
struct RowShares {
  float largest, sum;
};

struct AttentionMath {
  // scores = exp(score - largest) if kept, else 0; the sum covers all visible ones.
  RowShares (*exponentials)(const ScoreRow& row);
  // scores = exp(score - logsumexp), dropped and divided by keep. `gradient` comes in as the
  // gradient of these shares and becomes that of the products q k.
  void (*gradients)(const ScoreRow& row, float logsumexp, float* gradient);
};
extern const AttentionMath attention_math;
namespace avx512 {
extern const AttentionMath attention_math;
}

// The rows of scores of up to attention_block queries of one head while they become shares.
class ScoreStrip {
 public:
  static std::int64_t bytes(const AttentionShape& shape);
  ScoreStrip(const AttentionProblem& problem, AttentionHead head, std::byte* scratch);
  void start(RowRange queries);  // draws the random numbers
  // Starts fetching into the cache the part of the next head's rows (of q, k, v and `more`) that
  // corresponds to this strip.
  void fetch_next(const AttentionInput& more) const;
  std::int64_t padded_keys() const { return padded_; }  // that any of the queries sees
  // `query` is counted within the strip.
  ScoreRow row(std::int64_t query, float* scores) const;
  std::int64_t index(std::int64_t query) const;  // in [batch, heads, queries]

 private:
  const AttentionProblem& problem_;
  AttentionHead head_;
  std::uint32_t* numbers_;
  const std::uint16_t* bits_ = nullptr;
  float* mask_;
  RowRange queries_{};
  std::int64_t padded_ = 0;
};

// 1 / (sum * keep), or 0 where nothing was visible.
float share_factor(const RowShares& shares, float keep);
float logsumexp(const RowShares& shares);

constexpr std::int64_t padded(std::int64_t count) {
  return ceil_divide(count, attention_block) * attention_block;
}

}  // namespace narrowgauge::cpu
