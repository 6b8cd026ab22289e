// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/machine/floating_environment.h"
#include "base/threads/parallel.h"
#include "io/batch_reader.h"
#include "narrowgauge/data.h"

namespace narrowgauge {

std::vector<std::int64_t> DataSource::read_epoch(std::span<const std::int64_t> indices,
                                                 std::int64_t, std::span<Tensor> batch) {
  read(indices, batch);
  return {};
}

namespace {

constexpr int most_threads = 8;            // that decode: more would starve those that compute
constexpr std::int64_t spare_batches = 2;  // that wait for the consumer, beside those under way

int threads_for(const DataSource& source, const BatchOptions& options) {
  require(options.threads >= 0, "batches: expected 0 threads (one a core) or more, got ",
          options.threads);
  if (!source.reads_in_parallel()) return 1;
  return options.threads > 0 ? options.threads : std::min(thread_count(), most_threads);
}

}  // namespace

// Reads ahead in its own threads, or on demand if the system gives none.
class BatchLoader::Worker {
 public:
  Worker(std::shared_ptr<DataSource> source, const BatchOptions& options, BatchPosition start)
      : reader_(std::move(source), options, start), position_(start) {
    const int wanted = threads_for(reader_.source(), options);
    most_ahead_ = wanted + spare_batches;
    slots_.resize(static_cast<std::size_t>(most_ahead_));
    threads_.reserve(static_cast<std::size_t>(wanted));
    try {
      for (int i = 0; i < wanted; ++i) threads_.emplace_back([this] { run(); });
    } catch (const std::system_error& error) {
      if (threads_.empty()) tell_once(error);
    } catch (...) {
      stop();
      throw;
    }
  }

  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  std::int64_t batches_per_epoch() const { return reader_.batches_per_epoch(); }
  BatchPosition position() const { return position_; }
  double waited() const { return waited_; }

  // A batch of which no sample is left is none.
  std::optional<Batch> next() {
    const auto start = std::chrono::steady_clock::now();
    std::optional<Batch> batch;
    do {
      batch = threads_.empty() ? next_due() : next_ready();
      if (batch) position_ = reader_.following(batch->position);
    } while (batch && batch->tensors.empty());
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return batch;
  }

 private:
  // What became of a place in the stream.
  struct Slot {
    bool ready = false;
    Batch batch;
    std::exception_ptr failure;
  };

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // There are as many slots as batches may be under way or wait.
  Slot& slot_of(std::int64_t number) {
    return slots_[static_cast<std::size_t>(number % most_ahead_)];
  }

  // If a batch cannot be read, each call tries it again.
  std::optional<Batch> next_due() {
    const std::optional<BatchOrder> order = reader_.order_at(position_);
    if (!order) return std::nullopt;
    const FloatingEnvironment environment(Subnormals::keep);
    return reader_.read(*order);
  }

  std::optional<Batch> next_ready() {
    std::unique_lock lock(mutex_);
    Slot& slot = slot_of(given_);
    changed_.wait(lock, [&] { return slot.ready || (ended_ && given_ >= begun_); });
    if (!slot.ready) return std::nullopt;
    if (slot.failure) std::rethrow_exception(slot.failure);
    Batch batch = std::move(slot.batch);
    slot.ready = false;
    ++given_;
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
    const ThreadScope alone(1);  // the pool's threads are busy with the step
    const FloatingEnvironment environment(Subnormals::keep);
    while (const std::optional<BatchOrder> order = take_order()) {
      Slot read{.ready = true, .batch = {}, .failure = nullptr};
      try {
        read.batch = reader_.read(*order);
      } catch (...) {
        read.failure = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      if (read.failure) ended_ = true;
      slot_of(order->number) = std::move(read);
      changed_.notify_all();
    }
  }

  // The next batch to read, once there is room for it; nothing where no more are wanted.
  std::optional<BatchOrder> take_order() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || ended_ || begun_ - given_ < most_ahead_; });
    if (stopped_ || ended_) return std::nullopt;
    std::optional<BatchOrder> order;
    try {
      order = reader_.next_order();
    } catch (...) {
      slot_of(begun_++) = {.ready = true, .batch = {}, .failure = std::current_exception()};
    }
    if (order) order->number = begun_++;
    if (!order) ended_ = true, changed_.notify_all();
    return order;
  }

  BatchReader reader_;
  BatchPosition position_;  // the consumer's own
  double waited_ = 0;
  std::int64_t most_ahead_ = 0;

  std::mutex mutex_;  // guards what follows, and the reader's orders
  std::condition_variable changed_;
  std::vector<Slot> slots_;             // each of every most_ahead_th number in the stream
  std::int64_t begun_ = 0, given_ = 0;  // batches that readers took on, that the consumer has
  bool stopped_ = false, ended_ = false;

  std::vector<std::thread> threads_;  // last: they use everything above
};

namespace {

std::shared_ptr<DataSource> source_given(std::shared_ptr<DataSource> source) {
  require(source != nullptr, "batches: expected a source, got none");
  return source;
}

}  // namespace

BatchLoader::BatchLoader(std::shared_ptr<DataSource> source, const BatchOptions& options,
                         BatchPosition start)
    : worker_(std::make_unique<Worker>(source_given(std::move(source)), options, start)) {}

BatchLoader::~BatchLoader() = default;
BatchLoader::BatchLoader(BatchLoader&&) noexcept = default;
BatchLoader& BatchLoader::operator=(BatchLoader&&) noexcept = default;

std::int64_t BatchLoader::batches_per_epoch() const { return worker_->batches_per_epoch(); }
std::optional<Batch> BatchLoader::next() { return worker_->next(); }
BatchPosition BatchLoader::position() const { return worker_->position(); }
double BatchLoader::waited() const { return worker_->waited(); }

}  // namespace narrowgauge
