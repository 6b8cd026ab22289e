// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

#include "base/log.h"
#include "base/parallel.h"
#include "io/permutation.h"
#include "narrowgauge/data.h"

namespace narrowgauge {

namespace {

constexpr std::size_t most_ahead = 3;  // batches that wait for the consumer

struct Plan {
  std::int64_t samples = 0;
  std::int64_t batches = 0;  // in an epoch
  TensorTypes types;
};

Plan make_plan(const DataSource& source, const BatchOptions& options, BatchPosition start) {
  Plan plan{.samples = source.size(), .batches = 0, .types = source.sample_types()};
  require(options.batch > 0, "batches: expected a batch of at least 1 sample, got ", options.batch);
  require(options.epochs >= 0, "batches: expected 0 epochs (no end) or more, got ", options.epochs);
  require(plan.samples > 0, "batches: expected data, got a source of ", plan.samples, " samples");
  require(options.keep_last || options.batch <= plan.samples, "batches: a batch of ", options.batch,
          " samples is larger than the data, ", plan.samples, " samples");
  for (const TensorType& type : plan.types) known_dims(type.shape);
  plan.batches = plan.samples / options.batch;
  if (options.keep_last && plan.samples % options.batch != 0) ++plan.batches;
  require(start.epoch >= 0 && start.batch >= 0 && start.batch < plan.batches,
          "batches: expected a position of at most ", plan.batches, " batches an epoch, got epoch ",
          start.epoch, ", batch ", start.batch);
  return plan;
}

// Reads one batch after another, each when it is asked for.
class BatchReader {
 public:
  BatchReader(std::shared_ptr<DataSource> source, const BatchOptions& options, BatchPosition start)
      : source_(std::move(source)),
        options_(options),
        plan_(make_plan(*source_, options, start)),
        at_(start) {}

  std::int64_t batches_per_epoch() const { return plan_.batches; }

  BatchPosition following(BatchPosition at) const {
    return at.batch + 1 < plan_.batches ? BatchPosition{at.epoch, at.batch + 1}
                                        : BatchPosition{at.epoch + 1, 0};
  }

  // The next batch; nothing after the last. If a batch cannot be read, each call tries it again.
  std::optional<Batch> next() {
    if (options_.epochs != 0 && at_.epoch >= options_.epochs) return std::nullopt;
    if (at_.epoch != ordered_epoch_) order_ = epoch_order(at_.epoch);
    ordered_epoch_ = at_.epoch;
    Batch batch = read(at_);
    at_ = following(at_);
    return batch;
  }

 private:
  std::vector<std::int64_t> epoch_order(std::int64_t epoch) const {
    if (options_.shuffle) return permutation(plan_.samples, options_.seed, epoch);
    std::vector<std::int64_t> order(static_cast<std::size_t>(plan_.samples));
    std::iota(order.begin(), order.end(), 0);
    return order;
  }

  Batch read(BatchPosition at) {
    const std::int64_t first = at.batch * options_.batch;
    const std::int64_t count = std::min(options_.batch, plan_.samples - first);
    Batch batch{.position = at, .tensors = {}};
    for (const TensorType& type : plan_.types) {
      Dims dims = known_dims(type.shape);
      dims.insert(dims.begin(), count);
      batch.tensors.emplace_back(type.dtype, std::move(dims));
    }
    const std::span<const std::int64_t> all(order_);
    source_->read(all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
                  batch.tensors);
    return batch;
  }

  std::shared_ptr<DataSource> source_;
  BatchOptions options_;
  Plan plan_;
  BatchPosition at_;
  std::int64_t ordered_epoch_ = -1;
  std::vector<std::int64_t> order_;  // of the samples in that epoch
};

}  // namespace

// Reads ahead in its own thread, or on demand if the system gives no thread.
class BatchLoader::Worker {
 public:
  Worker(std::shared_ptr<DataSource> source, const BatchOptions& options, BatchPosition start)
      : reader_(std::move(source), options, start), position_(start) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      tell_once(error);
    }
  }

  ~Worker() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::int64_t batches_per_epoch() const { return reader_.batches_per_epoch(); }
  BatchPosition position() const { return position_; }

  std::optional<Batch> next() {
    std::optional<Batch> batch = thread_.joinable() ? next_ready() : reader_.next();
    if (batch) position_ = reader_.following(batch->position);
    return batch;
  }

 private:
  std::optional<Batch> next_ready() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || finished_; });
    if (ready_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return std::nullopt;
    }
    Batch batch = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return batch;
  }

  static void tell_once(const std::system_error& error) {
    static std::atomic<bool> told = false;
    if (told.exchange(true)) return;
    log(LogLevel::warning, concat("batches: no thread that reads ahead can be started (",
                                  error.code().message(), "): each is read when it is due"));
  }

  void run() {
    std::exception_ptr failure;
    try {
      const ThreadScope alone(1);  // the pool's threads are busy with the step
      read_all();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    finished_ = true;
    changed_.notify_all();
  }

  void read_all() {
    while (wait_for_room()) {
      std::optional<Batch> batch = reader_.next();
      if (!batch) return;
      const std::lock_guard lock(mutex_);
      ready_.push_back(*std::move(batch));
      changed_.notify_all();
    }
  }

  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || ready_.size() < most_ahead; });
    return !stopped_;
  }

  BatchReader reader_;      // of the thread, where there is one
  BatchPosition position_;  // the consumer's own

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Batch> ready_;
  bool stopped_ = false, finished_ = false;
  std::exception_ptr failure_;

  std::thread thread_;  // last: it uses everything above
};

BatchLoader::BatchLoader(std::shared_ptr<DataSource> source, const BatchOptions& options,
                         BatchPosition start) {
  require(source != nullptr, "batches: expected a source, got none");
  worker_ = std::make_unique<Worker>(std::move(source), options, start);
}

BatchLoader::~BatchLoader() = default;

std::int64_t BatchLoader::batches_per_epoch() const { return worker_->batches_per_epoch(); }
std::optional<Batch> BatchLoader::next() { return worker_->next(); }
BatchPosition BatchLoader::position() const { return worker_->position(); }

}  // namespace narrowgauge
