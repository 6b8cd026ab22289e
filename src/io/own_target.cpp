// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "narrowgauge/data.h"
#include "narrowgauge/error.h"

namespace narrowgauge {
namespace {

class OwnTarget : public DataSource {
 public:
  explicit OwnTarget(std::shared_ptr<DataSource> source) : source_(std::move(source)) {
    require(source_ != nullptr, "own target: expected a source");
    require(!source_->sample_types().empty(), "own target: expected samples of a tensor or more");
  }

  std::int64_t size() const override { return source_->size(); }
  TensorTypes sample_types() const override {
    return TensorTypes(2, source_->sample_types().front());
  }
  void read(std::span<const std::int64_t> indices, std::span<Tensor> batch) override {
    std::vector<Tensor> own = own_batch(indices, batch);
    source_->read(indices, own);
    copy(batch);
  }
  std::vector<std::int64_t> read_epoch(std::span<const std::int64_t> indices, std::int64_t epoch,
                                       std::span<Tensor> batch) override {
    std::vector<Tensor> own = own_batch(indices, batch);
    std::vector<std::int64_t> damaged = source_->read_epoch(indices, epoch, own);
    copy(batch);
    return damaged;
  }
  bool reads_in_parallel() const override { return source_->reads_in_parallel(); }

 private:
  // The first tensor is that of the batch; the others are read and forgotten.
  std::vector<Tensor> own_batch(std::span<const std::int64_t> indices,
                                std::span<Tensor> batch) const {
    require(batch.size() == 2, "own target: expected 2 tensors to fill, got ", batch.size());
    const TensorTypes types = source_->sample_types();
    std::vector<Tensor> own{batch[0]};
    for (std::size_t i = 1; i < types.size(); ++i) {
      Shape shape = types[i].shape;
      shape.insert(shape.begin(), std::ssize(indices));
      own.emplace_back(types[i].dtype, known_dims(shape));
    }
    return own;
  }
  static void copy(std::span<Tensor> batch) {
    std::copy_n(batch[0].data(), batch[0].bytes(), batch[1].data());
  }

  std::shared_ptr<DataSource> source_;
};

}  // namespace

std::shared_ptr<DataSource> as_own_target(std::shared_ptr<DataSource> source) {
  return std::make_shared<OwnTarget>(std::move(source));
}

}  // namespace narrowgauge
