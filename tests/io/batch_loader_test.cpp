// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>

#include "base/refuse_threads.h"
#include "io/arrays/permutation.h"
#include "narrowgauge/data.h"

namespace narrowgauge::batch_loader_test {
namespace {

// Each sample is its own index. Fails at one sample, if told to.
class Counting : public DataSource {
 public:
  explicit Counting(std::int64_t size, std::int64_t bad = -1) : size_(size), bad_(bad) {}
  std::int64_t size() const override { return size_; }
  TensorTypes sample_types() const override { return {{DType::i64, {}}, {DType::f32, {2}}}; }
  void read(std::span<const std::int64_t> indices, std::span<Tensor> batch) override {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] == bad_) throw std::runtime_error("sample 7 cannot be read");
      batch[0].values<std::int64_t>()[i] = indices[i];
      batch[1].values<float>()[2 * i + 1] = static_cast<float>(indices[i]);
    }
    ++reads;
  }
  std::atomic<int> reads = 0;

 private:
  std::int64_t size_, bad_;
};

std::vector<std::int64_t> samples(const Batch& batch) {
  const auto values = batch.tensors[0].values<std::int64_t>();
  return {values.begin(), values.end()};
}

std::vector<std::vector<std::int64_t>> all_batches(BatchLoader& loader) {
  std::vector<std::vector<std::int64_t>> result;
  while (auto batch = loader.next()) {
    result.push_back(samples(*batch));
    EXPECT_EQ(batch->samples, result.back());
  }
  return result;
}

TEST(batch_loader, evaluation_sees_every_sample_in_order) {
  BatchLoader loader(std::make_shared<Counting>(10),
                     {.batch = 4, .shuffle = false, .keep_last = true, .epochs = 1});
  EXPECT_EQ(loader.batches_per_epoch(), 3);
  const std::vector<std::vector<std::int64_t>> expected{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}};
  EXPECT_EQ(all_batches(loader), expected);
  EXPECT_FALSE(loader.next());  // and stays at the end
}

TEST(batch_loader, a_batch_has_the_types_of_the_source_with_its_size_in_front) {
  BatchLoader loader(std::make_shared<Counting>(10), {.batch = 4});
  const auto batch = loader.next();
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->tensors.size(), 2u);
  EXPECT_EQ(batch->tensors[0].type(), TensorType::parse("i64[4]"));
  EXPECT_EQ(batch->tensors[1].type(), TensorType::parse("f32[4,2]"));
  EXPECT_EQ(batch->tensors[1].at(1), batch->tensors[0].at(0));
}

TEST(batch_loader, training_drops_the_smaller_batch_and_shuffles_every_epoch_anew) {
  BatchLoader loader(std::make_shared<Counting>(103), {.batch = 10, .seed = 5, .epochs = 2});
  const auto batches = all_batches(loader);
  ASSERT_EQ(batches.size(), 20u);
  std::vector<std::int64_t> epochs[2];
  for (std::size_t i = 0; i < 20; ++i)
    epochs[i / 10].insert(epochs[i / 10].end(), batches[i].begin(), batches[i].end());
  EXPECT_NE(epochs[0], epochs[1]);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<std::int64_t> order = permutation(103, 5, epoch);
    order.resize(100);
    EXPECT_EQ(epochs[epoch], order);
  }
}

TEST(batch_loader, a_stream_goes_on_from_a_saved_position) {
  const BatchOptions options{.batch = 8, .seed = 3, .epochs = 3};
  BatchLoader whole(std::make_shared<Counting>(50), options);
  const auto expected = all_batches(whole);
  for (std::size_t done = 0; done < expected.size(); ++done) {
    BatchPosition saved;
    {
      BatchLoader first(std::make_shared<Counting>(50), options);
      for (std::size_t i = 0; i < done; ++i) EXPECT_EQ(first.next()->position.batch, i % 6);
      saved = first.position();
    }
    EXPECT_EQ(saved, (BatchPosition{static_cast<std::int64_t>(done / 6),
                                    static_cast<std::int64_t>(done % 6)}));
    BatchLoader second(std::make_shared<Counting>(50), options, saved);
    const std::vector<std::vector<std::int64_t>> rest(
        expected.begin() + static_cast<std::ptrdiff_t>(done), expected.end());
    EXPECT_EQ(all_batches(second), rest);
  }
}

TEST(batch_loader, reads_three_batches_ahead_and_no_more) {
  const auto source = std::make_shared<Counting>(1000);
  BatchLoader loader(source, {.batch = 10});
  const auto settles_at = [&](int reads) {
    for (int i = 0; i < 500 && source->reads < reads; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    return source->reads == reads;
  };
  EXPECT_TRUE(settles_at(3));
  loader.next();
  EXPECT_TRUE(settles_at(4));
}

// May be read by several threads; samples of multiples of `bad` are damaged.
class Parallel : public Counting {
 public:
  explicit Parallel(std::int64_t size, std::int64_t bad = 0) : Counting(size), bad_(bad) {}
  bool reads_in_parallel() const override { return true; }
  std::vector<std::int64_t> read_epoch(std::span<const std::int64_t> indices, std::int64_t,
                                       std::span<Tensor> batch) override {
    // The first batches take longest, so that later ones overtake them.
    std::this_thread::sleep_for(std::chrono::microseconds(indices[0] < 40 ? 2000 : 10));
    read(indices, batch);
    std::vector<std::int64_t> damaged;
    for (std::size_t i = 0; i < indices.size(); ++i)
      if (bad_ > 0 && indices[i] % bad_ == 0) damaged.push_back(static_cast<std::int64_t>(i));
    return damaged;
  }

 private:
  std::int64_t bad_;
};

TEST(batch_loader, several_threads_give_the_same_stream) {
  BatchOptions options{.batch = 7, .seed = 3, .epochs = 3, .threads = 1};
  BatchLoader one(std::make_shared<Parallel>(100), options);
  const auto expected = all_batches(one);
  options.threads = 5;
  BatchLoader five(std::make_shared<Parallel>(100), options);
  EXPECT_EQ(all_batches(five), expected);
  BatchLoader later(std::make_shared<Parallel>(100), options, {.epoch = 1, .batch = 3});
  EXPECT_EQ(later.next()->position, (BatchPosition{1, 3}));
  EXPECT_EQ(samples(*later.next()), expected[14 + 4]);
  EXPECT_EQ(later.position(), (BatchPosition{1, 5}));
}

TEST(batch_loader, the_stream_of_several_threads_ends_at_the_first_failure) {
  class Failing : public Parallel {
   public:
    Failing() : Parallel(100) {}
    void read(std::span<const std::int64_t> indices, std::span<Tensor> batch) override {
      if (indices[0] >= 30) throw std::runtime_error("bad disk");
      Parallel::read(indices, batch);
    }
  };
  BatchLoader loader(std::make_shared<Failing>(),
                     {.batch = 10, .shuffle = false, .epochs = 1, .threads = 4});
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(samples(*loader.next()).front(), 10 * i);
  EXPECT_THROW(loader.next(), std::runtime_error);
  EXPECT_THROW(loader.next(), std::runtime_error);
}

TEST(batch_loader, damaged_samples_are_left_out_of_evaluations) {
  BatchLoader loader(std::make_shared<Parallel>(10, 3),
                     {.batch = 4, .shuffle = false, .keep_last = true, .epochs = 1});
  const std::vector<std::vector<std::int64_t>> expected{{1, 2}, {4, 5, 7}, {8}};
  EXPECT_EQ(all_batches(loader), expected);
  BatchLoader none(std::make_shared<Parallel>(10, 1),
                   {.batch = 4, .shuffle = false, .keep_last = true, .epochs = 1});
  EXPECT_FALSE(none.next());
}

TEST(batch_loader, damaged_samples_of_a_training_are_replaced_by_those_behind_them) {
  BatchLoader loader(std::make_shared<Parallel>(10, 3),
                     {.batch = 5, .shuffle = false, .epochs = 1});
  const std::vector<std::vector<std::int64_t>> expected{{1, 1, 2, 4, 4}, {5, 7, 7, 8, 1}};
  EXPECT_EQ(all_batches(loader), expected);
  BatchLoader none(std::make_shared<Parallel>(10, 1), {.batch = 5, .epochs = 1});
  EXPECT_THROW(none.next(), DataError);
}

TEST(batch_loader, tells_how_long_it_waited) {
  class Slow : public Counting {
   public:
    Slow() : Counting(20) {}
    void read(std::span<const std::int64_t> indices, std::span<Tensor> batch) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      Counting::read(indices, batch);
    }
  };
  BatchLoader loader(std::make_shared<Slow>(), {.batch = 10, .shuffle = false, .epochs = 1});
  EXPECT_EQ(loader.waited(), 0);
  all_batches(loader);
  EXPECT_GT(loader.waited(), 0.02);
}

TEST(batch_loader, without_a_thread_each_batch_is_read_when_it_is_due) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer starts no threads in a child";
#endif
  const BatchOptions options{.batch = 7, .seed = 3, .epochs = 2};
  BatchLoader usual(std::make_shared<Counting>(50), options);
  const auto expected = all_batches(usual);
  const pid_t child = fork();
  if (child == 0) {
    if (!testing_threads::refuse_threads()) _exit(1);
    const auto source = std::make_shared<Counting>(50);
    BatchLoader loader(source, options);
    if (source->reads != 0) _exit(2);
    _exit(all_batches(loader) == expected ? 0 : 3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(batch_loader, an_exception_of_the_source_arrives_at_its_batch) {
  BatchLoader loader(std::make_shared<Counting>(20, 7), {.batch = 3, .shuffle = false});
  EXPECT_EQ(samples(*loader.next()), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(samples(*loader.next()), (std::vector<std::int64_t>{3, 4, 5}));
  for (int again = 0; again < 2; ++again) {
    try {
      loader.next();
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "sample 7 cannot be read");
    }
  }
  EXPECT_EQ(loader.position(), (BatchPosition{0, 2}));
}

TEST(batch_loader, can_be_destroyed_at_any_time) {
  for (int taken = 0; taken < 40; ++taken) {
    BatchLoader loader(std::make_shared<Counting>(100, taken % 3 ? -1 : 50), {.batch = 10});
    try {
      for (int i = 0; i < taken % 7; ++i) loader.next();
    } catch (const std::runtime_error&) {
    }
  }
}

TEST(batch_loader, a_batch_larger_than_the_data_is_refused_with_both_numbers) {
  const auto source = std::make_shared<Counting>(100);
  try {
    BatchLoader loader(source, {.batch = 128});
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "batches: a batch of 128 samples is larger than the data, 100 samples");
  }
  BatchLoader evaluation(source, {.batch = 128, .shuffle = false, .keep_last = true, .epochs = 1});
  EXPECT_EQ(all_batches(evaluation).at(0).size(), 100u);
}

TEST(batch_loader, bad_options_are_usage_errors) {
  const auto source = std::make_shared<Counting>(100);
  EXPECT_THROW(BatchLoader(nullptr, {}), UsageError);
  EXPECT_THROW(BatchLoader(source, {.batch = 0}), UsageError);
  EXPECT_THROW(BatchLoader(source, {.batch = 10}, {0, 10}), UsageError);
  EXPECT_THROW(BatchLoader(source, {.batch = 10}, {-1, 0}), UsageError);
  EXPECT_THROW(BatchLoader(std::make_shared<Counting>(0), {.keep_last = true}), UsageError);
}

TEST(permutation, is_a_permutation_that_varies_with_seed_and_epoch) {
  std::set<std::vector<std::int64_t>> different;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
      std::vector<std::int64_t> order = permutation(1000, seed, epoch);
      different.insert(order);
      std::ranges::sort(order);
      for (std::int64_t i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    }
  EXPECT_EQ(different.size(), 16u);
  EXPECT_EQ(permutation(1000, 3, 2), permutation(1000, 3, 2));
}

// Over many epochs every sample comes about equally often at every place: chi-squared over 12 x 12
// cells has 121 degrees of freedom, mean 121, deviation 15.6.
TEST(permutation, favours_no_place) {
  constexpr std::size_t n = 12;
  constexpr int epochs = 6000;
  int count[n][n] = {};
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<std::int64_t> order = permutation(n, 11, epoch);
    for (std::size_t i = 0; i < n; ++i) ++count[i][order[i]];
  }
  const double expected = static_cast<double>(epochs) / n;
  double chi_squared = 0;
  for (const auto& row : count)
    for (const int c : row) chi_squared += (c - expected) * (c - expected) / expected;
  EXPECT_GT(chi_squared, 121 - 5 * 15.6);
  EXPECT_LT(chi_squared, 121 + 5 * 15.6);
}

}  // namespace
}  // namespace narrowgauge::batch_loader_test
