// SPDX-License-Identifier: Apache-2.0
// Data: sets of samples, the sources that samples come from (a program may bring its own), and
// the loader that shuffles them into batches in a thread of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "narrowgauge/export.h"
#include "narrowgauge/named_tensor.h"
#include "narrowgauge/tensor.h"

namespace narrowgauge {

// Samples: sample i is row i of each tensor.
struct NG_API DataSet {
  std::string name;                  // of the set and its part, for messages: "glyphs/train"
  std::vector<NamedTensor> inputs;   // [N, ...] of any dtype of whole bytes, for the network
  std::vector<NamedTensor> targets;  // [N, ...] of any dtype of whole bytes, for the loss
  std::int64_t classes = 0;  // the target is whole numbers [N] in [0, classes); 0: it is none
  std::vector<std::string> class_names{};    // one for each class, where they have names
  std::vector<std::string> feature_names{};  // of a table: one for each number of a sample

  std::int64_t size() const;  // N; 0 without inputs
  // The only input; throws UsageError where there are none or several.
  const Tensor& input() const;
  // The only target; throws UsageError where there are none or several.
  const Tensor& target() const;
};

// A data set in its two parts.
struct NG_API DataSplit {
  DataSet train, test;  // `test` is for evaluation alone
  std::string table{};  // of a table: what its columns become, for TableOptions::schema
};

// The set that the program draws itself: ten classes of strokes (line, cross, circle, arc, corner,
// tee, parallel lines, triangle, zigzag, arrow), "images" u8 [N,1,28,28] and "labels" i64. An image
// is a function of the seed, its part (train or test) and its index. Throws UsageError for a
// negative count.
NG_API DataSplit draw_glyphs(std::uint64_t seed = 1, std::int64_t train_count = 20000,
                             std::int64_t test_count = 4000);

// Reads IDX files (MNIST's format), plain or gzipped, from a folder: {train,t10k}-images-idx3-ubyte
// and {train,t10k}-labels-idx1-ubyte, as "images" u8 [N,1,H,W] and "labels" u8. DataError names the
// file, what was expected and found.
NG_API DataSplit read_idx_folder(const std::string& folder);

// Loads a set by its name or path; who reads it is found by name and content. Throws DataError
// saying what can be read.
NG_API DataSplit load_data(const std::string& name_or_path);
// What load_data() reads: "glyphs (drawn here), a folder of IDX files or ...".
NG_API std::string data_help();

// Where samples come from. Implement it to train on your own data.
class NG_API DataSource {
 public:
  virtual ~DataSource();
  virtual std::int64_t size() const = 0;  // number of samples
  // Types of the tensors of one sample, without the batch dimension: {f32[3,32,32], i64[]}.
  virtual TensorTypes sample_types() const = 0;
  // Fills batch[k], zero-filled and of shape [indices.size(), dims of sample_types()[k]...], with
  // the samples at `indices`. A BatchLoader calls this from threads of its own, one at a time
  // unless reads_in_parallel(), so a source that is given to two of them, as training and as test
  // data, is read by two threads at once. An exception reaches whoever asks the loader for the
  // batch.
  virtual void read(std::span<const std::int64_t> indices, std::span<Tensor> batch) = 0;
  // Does what read() does in a pass over the data, counted from 0, on which random changes of
  // samples may depend. Returns the rows of the batch, in rising order, whose samples are damaged:
  // a BatchLoader reads others in their place, or leaves them out where each sample counts once.
  // Unless a source overrides it, this is read(), and no sample is damaged.
  virtual std::vector<std::int64_t> read_epoch(std::span<const std::int64_t> indices,
                                               std::int64_t epoch, std::span<Tensor> batch);
  // Whether several threads may read at once, as is worth it where samples are decoded.
  virtual bool reads_in_parallel() const { return false; }
};

// Where images in memory have their channels.
enum class ImageLayout : std::uint8_t {
  automatic,  // as image_layout() finds, and a warning says where that is nhwc
  nchw,       // [N,C,H,W]
  nhwc        // [N,H,W,C]
};
// nhwc for dims of four axes of which the last is 1, 3 or 4, the second is none of these, and the
// sides that this leaves are 8 or more; else nchw.
NG_API ImageLayout image_layout(const Dims& dims);
// Images [N,H,W,C] as [N,C,H,W]. Throws UsageError for another number of axes, or numbers of less
// than a byte.
NG_API Tensor channels_first(const Tensor& images);

// How images are changed on their way into a batch, in this order.
struct NG_API ImageTransform {
  std::int64_t height = 0, width = 0;  // black pixels (0) around it up to this size; 0 keeps it
  // The only channel is repeated this often; 0 keeps the channels.
  std::int64_t channels = 0;
  // f32 (x - mean) / deviation, where x of u8 images is pixel / 255; one number for all channels
  // of the result or one for each.
  std::vector<float> mean{0.0f};
  std::vector<float> deviation{1.0f};           // as the mean
  ImageLayout layout = ImageLayout::automatic;  // of the set; the result is [N,C,H,W]
};

// One number for each channel.
struct NG_API ChannelStatistics {
  std::vector<float> mean, deviation;  // of the values that ImageTransform normalizes
};
// Statistics of each channel over all images in this layout, u8 (divided by 255) or f32. Throws
// UsageError for other types.
NG_API ChannelStatistics channel_statistics(const Tensor& images,
                                            ImageLayout layout = ImageLayout::automatic);

// Samples held in memory: sample i is row i of each column.
class NG_API TensorSource : public DataSource {
 public:
  // Columns [N, ...] of any dtype of whole bytes. Throws UsageError if their N differ.
  explicit TensorSource(std::vector<Tensor> columns);
  // The set's inputs, then its targets. Labels of classes are i64.
  explicit TensorSource(const DataSet& set);
  // Images (f32 [N,C,H,W] after the transform) and i64 labels or f32 numbers, of a set whose only
  // input is images u8 or f32 in the transform's layout. Throws UsageError for another set or if
  // the transform does not fit.
  TensorSource(const DataSet& set, const ImageTransform& transform);
  ~TensorSource() override;

  std::int64_t size() const override;
  TensorTypes sample_types() const override;
  void read(std::span<const std::int64_t> indices, std::span<Tensor> batch) override;

 private:
  struct Images;
  std::vector<Tensor> columns_;
  std::unique_ptr<const Images> images_;  // how column 0 is transformed, if it is
};

// The samples of an autoencoder: the first tensor of each sample twice, as the input and as the
// target of a network that gives its input again.
NG_API std::shared_ptr<DataSource> as_own_target(std::shared_ptr<DataSource> source);

// How a BatchLoader makes batches.
struct NG_API BatchOptions {
  std::int64_t batch = 128;  // samples
  bool shuffle = true;       // a new order every epoch, a function of (seed, epoch)
  bool keep_last = false;    // the last, smaller batch: dropped in training, kept in evaluation
  std::uint64_t seed = 1;    // of the orders
  std::int64_t epochs = 0;   // the stream ends after so many; 0: never
  int threads = 0;           // that read, where the source lets several; 0: one a core, at most 8
};

// A place in the stream of batches; saved and given back to resume.
struct NG_API BatchPosition {
  std::int64_t epoch = 0;  // from 0
  std::int64_t batch = 0;  // within the epoch
  bool operator==(const BatchPosition&) const = default;
};

// Samples one after another along axis 0.
struct NG_API Batch {
  BatchPosition position;       // where it stands in the stream
  std::vector<Tensor> tensors;  // one for each of the source's sample_types()
  // Which sample of the source each row is. Damaged ones are not among them: others stand in their
  // place, or fewer.
  std::vector<std::int64_t> samples{};
};

// Batches of a source, read ahead of the consumer: two more than there are threads that read. What
// the stream holds does not depend on their number. One consumer at a time.
class NG_API BatchLoader {
 public:
  // Throws UsageError for a batch larger than the data (unless the last one is kept), an empty
  // source, or a start that is no position of this stream.
  BatchLoader(std::shared_ptr<DataSource> source, const BatchOptions& options,
              BatchPosition start = {});
  ~BatchLoader();                                  // at any time; waits only for a read() under way
  BatchLoader(BatchLoader&&) noexcept;             // the other throws UsageError when it is used
  BatchLoader& operator=(BatchLoader&&) noexcept;  // the same

  std::int64_t batches_per_epoch() const;  // with the last, smaller one where it is kept
  // The next batch, or nothing at the end of the stream. Rethrows what the source threw, at the
  // batch where it did and again at every call after that.
  std::optional<Batch> next();
  BatchPosition position() const;  // of the batch that next() will give
  // Seconds that calls of next() have waited for a batch to be read.
  double waited() const;

 private:
  class Worker;
  Held<"batch loader", std::unique_ptr<Worker>> worker_;
};

}  // namespace narrowgauge
