// SPDX-License-Identifier: Apache-2.0
#include "io/batch_reader.h"

#include <algorithm>
#include <numeric>

#include "io/arrays/permutation.h"

namespace narrowgauge {

namespace {

constexpr std::int64_t most_damaged = 1000;  // samples in a row, before all count as damaged

// Row `from` of one batch becomes row `to` of another.
void copy_row(std::span<const Tensor> source, std::int64_t from, std::span<Tensor> target,
              std::int64_t to) {
  for (std::size_t k = 0; k < source.size(); ++k) {
    const std::int64_t rows = source[k].dims()[0], bytes = source[k].bytes() / rows;
    std::copy_n(source[k].data() + from * bytes, bytes, target[k].data() + to * bytes);
  }
}

}  // namespace

BatchReader::BatchReader(std::shared_ptr<DataSource> source, const BatchOptions& options,
                         BatchPosition start)
    : source_(std::move(source)),
      options_(options),
      samples_(source_->size()),
      types_(source_->sample_types()),
      at_(start) {
  require(options.batch > 0, "batches: expected a batch of at least 1 sample, got ", options.batch);
  require(options.epochs >= 0, "batches: expected 0 epochs (no end) or more, got ", options.epochs);
  require(samples_ > 0, "batches: expected data, got a source of ", samples_, " samples");
  require(options.keep_last || options.batch <= samples_, "batches: a batch of ", options.batch,
          " samples is larger than the data, ", samples_, " samples");
  for (const TensorType& type : types_) known_dims(type.shape);
  batches_ = samples_ / options.batch;
  if (options.keep_last && samples_ % options.batch != 0) ++batches_;
  require(start.epoch >= 0 && start.batch >= 0 && start.batch < batches_,
          "batches: expected a position of at most ", batches_, " batches an epoch, got epoch ",
          start.epoch, ", batch ", start.batch);
}

BatchPosition BatchReader::following(BatchPosition at) const {
  return at.batch + 1 < batches_ ? BatchPosition{at.epoch, at.batch + 1}
                                 : BatchPosition{at.epoch + 1, 0};
}

std::optional<BatchOrder> BatchReader::next_order() {
  std::optional<BatchOrder> order = order_at(at_);
  if (order) at_ = following(at_);
  return order;
}

std::optional<BatchOrder> BatchReader::order_at(BatchPosition at) {
  if (options_.epochs != 0 && at.epoch >= options_.epochs) return std::nullopt;
  if (at.epoch != ordered_epoch_) {
    if (options_.shuffle) {
      order_ = permutation(samples_, options_.seed, at.epoch);
    } else {
      order_.resize(static_cast<std::size_t>(samples_));
      std::iota(order_.begin(), order_.end(), 0);
    }
    ordered_epoch_ = at.epoch;
  }
  const std::int64_t first = at.batch * options_.batch;
  const auto begin = order_.begin() + first;
  return BatchOrder{at, 0, {begin, begin + std::min(options_.batch, samples_ - first)}};
}

std::vector<Tensor> BatchReader::tensors_for(std::int64_t count) const {
  std::vector<Tensor> tensors;
  for (const TensorType& type : types_) {
    Dims dims = known_dims(type.shape);
    dims.insert(dims.begin(), count);
    tensors.emplace_back(type.dtype, std::move(dims));
  }
  return tensors;
}

Batch BatchReader::read(const BatchOrder& order) const {
  const std::int64_t count = std::ssize(order.indices);
  Batch batch{.position = order.position, .tensors = tensors_for(count), .samples = order.indices};
  const std::vector<std::int64_t> damaged =
      source_->read_epoch(order.indices, order.position.epoch, batch.tensors);
  if (damaged.empty()) return batch;
  if (!options_.keep_last) {
    replace(damaged, batch);
    return batch;
  }
  const std::int64_t left = count - std::ssize(damaged);
  std::vector<Tensor> whole = left > 0 ? tensors_for(left) : std::vector<Tensor>{};
  batch.samples.clear();
  for (std::int64_t row = 0; row < count; ++row) {
    if (std::ranges::binary_search(damaged, row)) continue;
    copy_row(batch.tensors, row, whole, std::ssize(batch.samples));
    batch.samples.push_back(order.indices[static_cast<std::size_t>(row)]);
  }
  batch.tensors = std::move(whole);
  return batch;
}

void BatchReader::replace(std::span<const std::int64_t> rows, Batch& batch) const {
  const std::int64_t most = std::min(most_damaged, samples_);
  for (const std::int64_t row : rows) {
    std::int64_t& index = batch.samples[static_cast<std::size_t>(row)];
    bool found = false;
    for (std::int64_t tries = 0; tries < most && !found; ++tries) {
      index = (index + 1) % samples_;
      std::vector<Tensor> one = tensors_for(1);
      found = source_->read_epoch({&index, 1}, batch.position.epoch, one).empty();
      if (found) copy_row(one, 0, batch.tensors, row);
    }
    require<DataError>(found, "batches: ", most, " samples in a row are damaged");
  }
}

}  // namespace narrowgauge
