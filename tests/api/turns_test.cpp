// SPDX-License-Identifier: Apache-2.0
// Measuring beside busy neighbours, with a clock and neighbours of our own.
#include "compile/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "api/training/amp_choice.h"
#include "narrowgauge/models.h"
#include "study/doctor.h"

namespace narrowgauge::turns_test {
namespace {

// Nobody waits but in the turns that are named.
class Neighbour : public Stopwatch {
 public:
  explicit Neighbour(std::vector<int> turns) : turns_(std::move(turns)) {}
  double waited() override {
    const int turn = turn_++;  // 0 is that of the warm-up
    return std::find(turns_.begin(), turns_.end(), turn) == turns_.end() ? 0 : 1;
  }

 private:
  std::vector<int> turns_;
  int turn_ = 0;
};

TEST(turns, are_kept_in_which_no_thread_waited) {
  int runs = 0;
  // Every run of an odd turn takes 20 times as long.
  const auto run = [&](double milliseconds) {
    const int turn = runs++ / 2;
    return turn % 2 == 1 ? 20 * milliseconds : milliseconds;
  };
  const Contestant contestants[] = {[&] { return run(2); }, [&] { return run(1); }};
  Neighbour neighbour({1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23});
  const Turns turns = measure_by_turns(contestants, neighbour);
  EXPECT_TRUE(turns.steady);
  for (const double time : turns.times[0]) EXPECT_EQ(time, 2);
  for (const double time : turns.times[1]) EXPECT_EQ(time, 1);
}

// Twenty times too slow in every run, and so as steady as can be.
TEST(turns, are_not_steady_where_a_thread_waited_in_all) {
  int runs = 0;
  const Contestant contestants[] = {[&] { return ++runs, 20.; }};
  std::vector<int> all(100);
  for (int i = 0; i < 100; ++i) all[static_cast<std::size_t>(i)] = i;
  Neighbour neighbour(all);
  EXPECT_FALSE(measure_by_turns(contestants, neighbour).steady);
  EXPECT_LE(runs, 30);  // patience ends
}

TEST(turns, are_not_steady_where_the_best_differ) {
  double time = 1;
  const Contestant contestants[] = {[&] { return time *= 2; }};
  Neighbour nobody({});
  EXPECT_FALSE(measure_by_turns(contestants, nobody).steady);
}

TEST(turns, begin_with_another_contestant_each_time) {
  std::string order;
  const Contestant contestants[] = {[&] { return order += 'a', 30.; },
                                    [&] { return order += 'b', 30.; }};
  Neighbour nobody({});
  measure_by_turns(contestants, nobody);
  EXPECT_EQ(order, "abbaabba");
}

// How many turns it takes two contestants, the first of which needs a millisecond.
std::size_t turns_taken(double other, std::optional<double> worth) {
  const Contestant contestants[] = {[] { return 1.; }, [=] { return other; }};
  Neighbour nobody({});
  return measure_by_turns(contestants, nobody, worth).times.front().size();
}

TEST(turns, end_early_where_a_choice_is_beyond_doubt) {
  for (const double other : {0.1, 0.8, 1., 1.3, 5.}) {
    EXPECT_EQ(turns_taken(other, 1.125), 3u) << other;
    EXPECT_GT(turns_taken(other, {}), 8u) << other;
  }
  for (const double other : {0.84, 0.9, 0.95}) EXPECT_EQ(turns_taken(other, 1.125), 12u) << other;
}

TEST(turns, do_not_end_early_where_the_best_times_differ) {
  double time = 0.1;
  const Contestant contestants[] = {[] { return 1.; }, [&] { return time *= 1.5; }};
  Neighbour nobody({});
  const Turns turns = measure_by_turns(contestants, nobody, 1.125);
  EXPECT_FALSE(turns.steady);
  EXPECT_GT(turns.times.front().size(), 10u);
}

TEST(stopwatch, counts_one_thread_only_while_it_has_a_core) {
  const ThreadScope alone(1);
  Stopwatch stopwatch;
  const double before = stopwatch.seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(stopwatch.seconds() - before, 0.025);
  EXPECT_EQ(stopwatch.waited(), 0);
}

// More threads than cores: some must wait.
TEST(core_wait, tells_of_threads_that_want_a_core) {
  CoreWait wait;
  if (std::ifstream("/proc/self/schedstat").fail()) GTEST_SKIP() << "the system does not tell";
  std::vector<std::thread> threads;
  for (int i = 0; i < 2 * hardware_threads() + 1; ++i)
    threads.emplace_back([] {
      for (const double start = thread_seconds(); thread_seconds() - start < 0.05;) {
      }
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_GT(wait.longest(), 0.005);
  for (std::thread& thread : threads) thread.join();
}

// Which of the two measurements is spoiled: that in all threads, that in one, or both.
class Spoiled : public Stopwatch {
 public:
  explicit Spoiled(bool spoiled) : spoiled_(spoiled) {}
  // Each look at the clock is 30 milliseconds later, or by twice as much as the last one.
  double seconds() override { return now_ = spoiled_ ? 2 * now_ : now_ + 0.03; }
  double waited() override { return 0; }

 private:
  bool spoiled_;
  double now_ = 1;
};

MakeStopwatch spoiled(bool all_threads, bool one_thread) {
  return [=] { return std::make_unique<Spoiled>(thread_count() == 1 ? one_thread : all_threads); };
}

AmpChoice choose(const MakeStopwatch& make) {
  return choose_amp("mlp", find_model("mlp", {1, 28, 28}, 10), softmax_cross_entropy(), sgd(0.1), 8,
                    make);
}

TEST(amp_choice, says_what_it_rests_on) {
  const ThreadScope threads(2);
  EXPECT_TRUE(choose(spoiled(false, false)).reason.starts_with("contractions at "));
  const std::string alone = choose(spoiled(true, false)).reason;
  EXPECT_TRUE(alone.starts_with("other programs use the cores; contractions of one thread at "))
      << alone;
  const AmpChoice modelled = choose(spoiled(true, true));
  EXPECT_TRUE(modelled.reason.starts_with("too busy to tell; by what units this CPU has: "))
      << modelled.reason;
  EXPECT_EQ(modelled.format, isa() >= Isa::bf16 ? DType::bf16 : DType::f32);
}

TEST(amp_choice, models_what_the_units_are_for) {
  const auto best = [](Isa isa) {
    return fastest_format({modelled_rate(isa, DType::f32), modelled_rate(isa, DType::bf16),
                           modelled_rate(isa, DType::f16)},
                          Grounds::model)
        .format;
  };
  EXPECT_EQ(best(Isa::amx), DType::bf16);
  EXPECT_EQ(best(Isa::bf16), DType::bf16);
  for (const Isa isa : {Isa::avx2, Isa::avx512, Isa::vnni}) EXPECT_EQ(best(isa), DType::f32);
}

TEST(measure_math, gives_no_rates_where_it_cannot_be_told) {
  const ThreadScope threads(2);
  const MathRates busy = measure_math(spoiled(true, true));
  EXPECT_EQ(busy.grounds, Grounds::model);
  for (const MathRate& rate : busy.rates) {
    EXPECT_EQ(rate.gflops(), 0);
    EXPECT_NE(rate.product, "");
  }
  const MathRates alone = measure_math(spoiled(true, false));
  EXPECT_EQ(alone.grounds, Grounds::one_thread);
  for (const MathRate& rate : alone.rates) EXPECT_GT(rate.gflops(), 0);
}

}  // namespace
}  // namespace narrowgauge::turns_test
