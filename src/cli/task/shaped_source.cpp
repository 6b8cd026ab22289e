// SPDX-License-Identifier: Apache-2.0
#include "cli/task/shaped_source.h"

#include <utility>

namespace narrowgauge::cli {
namespace {

class ShapedSource : public DataSource {
 public:
  ShapedSource(std::shared_ptr<DataSource> source, Dims image, Dims wanted)
      : source_(std::move(source)), image_(std::move(image)), wanted_(std::move(wanted)) {}

  std::int64_t size() const override { return source_->size(); }

  TensorTypes sample_types() const override {
    TensorTypes types = source_->sample_types();
    types[0].shape = Shape(wanted_.begin(), wanted_.end());
    return types;
  }

  void read(std::span<const std::int64_t> indices, std::span<Tensor> batch) override {
    std::vector<Tensor> inner = as_images(batch);
    source_->read(indices, inner);
  }

  std::vector<std::int64_t> read_epoch(std::span<const std::int64_t> indices, std::int64_t epoch,
                                       std::span<Tensor> batch) override {
    std::vector<Tensor> inner = as_images(batch);
    return source_->read_epoch(indices, epoch, inner);
  }

  bool reads_in_parallel() const override { return source_->reads_in_parallel(); }

 private:
  // The batch's memory, seen as the source has it.
  std::vector<Tensor> as_images(std::span<Tensor> batch) const {
    std::vector<Tensor> inner(batch.begin(), batch.end());
    Dims dims = image_;
    dims.insert(dims.begin(), batch[0].dims()[0]);
    inner[0] = batch[0].reshaped(dims);
    return inner;
  }

  std::shared_ptr<DataSource> source_;
  Dims image_, wanted_;  // of a sample: as the source has it, as the network takes it
};

}  // namespace

std::shared_ptr<DataSource> shaped_as(std::shared_ptr<DataSource> source, const Shape& input,
                                      const std::string& data) {
  const Dims image = known_dims(source->sample_types().at(0).shape);
  Dims wanted;
  for (std::size_t i = 1; i < input.size(); ++i)
    wanted.push_back(input[i].is_known()    ? input[i].value()
                     : i - 1 < image.size() ? image[i - 1]
                                            : 1);
  if (wanted == image) return source;
  require<DataError>(element_count(wanted) == element_count(image), data, ": an image has ",
                     element_count(image), " numbers, the network's input is ", input);
  return std::make_shared<ShapedSource>(std::move(source), image, std::move(wanted));
}

}  // namespace narrowgauge::cli
