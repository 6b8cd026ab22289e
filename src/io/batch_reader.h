// SPDX-License-Identifier: Apache-2.0
// The stream of batches of a source: which samples each holds, and how one is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "narrowgauge/data.h"

namespace narrowgauge {

// A batch that is to be read.
struct BatchOrder {
  BatchPosition position;
  std::int64_t number = 0;            // in the stream
  std::vector<std::int64_t> indices;  // of its samples
};

class BatchReader {
 public:
  // Throws UsageError for options that make no stream, or a start outside of it.
  BatchReader(std::shared_ptr<DataSource> source, const BatchOptions& options, BatchPosition start);

  const DataSource& source() const { return *source_; }
  std::int64_t batches_per_epoch() const { return batches_; }
  BatchPosition following(BatchPosition at) const;

  // The batches one after another from the start; nothing after the last.
  std::optional<BatchOrder> next_order();
  std::optional<BatchOrder> order_at(BatchPosition at);

  // May be called from several threads where the source lets them. Damaged samples are replaced by
  // those that follow them in the source or, where each counts once, left out: then the batch is
  // smaller, and without tensors where none is left. Throws DataError where too many in a row are
  // damaged.
  Batch read(const BatchOrder& order) const;

 private:
  void replace(std::span<const std::int64_t> rows, Batch& batch) const;
  std::vector<Tensor> tensors_for(std::int64_t count) const;

  std::shared_ptr<DataSource> source_;
  BatchOptions options_;
  std::int64_t samples_ = 0, batches_ = 0;  // in all; in an epoch
  TensorTypes types_;
  BatchPosition at_;  // of next_order()
  std::int64_t ordered_epoch_ = -1;
  std::vector<std::int64_t> order_;  // of the samples in that epoch
};

}  // namespace narrowgauge
