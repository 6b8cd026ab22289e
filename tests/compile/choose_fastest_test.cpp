// SPDX-License-Identifier: Apache-2.0
// The choice among kernels by measurement, with a clock that only kernels move on.
#include "compile/choose_fastest.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "narrowgauge/graph.h"
#include "narrowgauge/op.h"

namespace narrowgauge::choose_fastest_test {
namespace {

double now = 0;  // seconds
int runs = 0;
bool unsteady = false;  // every run takes twice as long as the one before

class Clock : public Stopwatch {
 public:
  explicit Clock(bool neighbour) : neighbour_(neighbour) {}
  double seconds() override { return now; }
  double waited() override { return neighbour_ ? 1 : 0; }

 private:
  bool neighbour_;  // takes a core in every turn
};

// y = x by two kernels, `first` and `second`, that take so many milliseconds, or decline if it is
// a negative number; by the reference in no time.
template <Fusion fusion>
struct Timed {
  static constexpr OpInfo info{.name = fusion == Fusion::contraction ? "Contraction" : "Other",
                               .domain = "test",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .fusion = fusion};
  double first = 40, second = 20;
  static void attributes(auto& self, auto&& visit) {
    visit("first", self.first);
    visit("second", self.second);
  }
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  static Offer takes(double milliseconds) {
    if (milliseconds < 0) return Offer::decline("not here");
    Offer offer;
    offer.prepare = [milliseconds](Offer& ready) {
      ready.run = [milliseconds](const KernelCall&) {
        ++runs;
        now += 1e-3 * (milliseconds + (unsteady ? 1 << std::min(runs, 8) : 0));
      };
    };
    return offer;
  }
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {
        {"first", [](const Request& request) { return takes(request.as<Timed>().first); }},
        {"second", [](const Request& request) { return takes(request.as<Timed>().second); }},
        {"reference", [](const Request&) { return takes(0); }}};
    return list;
  }
};
using Contraction = Timed<Fusion::contraction>;
using Other = Timed<Fusion::opaque>;

class Memory : public KernelMemory {
 public:
  std::optional<KernelRecord> find(const std::string& key) override {
    const auto found = records.find(key);
    return found == records.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(const std::string& key, const KernelRecord& record) override { records[key] = record; }
  bool measures() const override { return may_measure; }
  std::map<std::string, KernelRecord> records;
  bool may_measure = true;
};

struct Asked {
  std::int64_t size = 8;
  Storage storage{};
  int threads = 1;
  Math math = Math::ieee;
  bool deterministic = false;
};

// Calls `use` with a request of one op on one operand.
template <class T, class Use>
auto with_request(const T& op, const Asked& asked, const Use& use) {
  const Operand operand{.dims = {asked.size, 1, 1}, .strides = {1, 1, 1}, .storage = asked.storage};
  const Attributes attributes = Attributes::of(op);
  const std::vector<Operand> operands{operand};
  const Target target{.threads = asked.threads};
  return use(Request{record_of<T>(), attributes, operands, operands, target, asked.math, "node",
                     asked.deterministic});
}

template <class T>
ChosenKernel choose(const T& op, KernelMemory* memory, const Asked& asked = {},
                    bool neighbour = false) {
  runs = 0;
  Clock clock(neighbour);
  return with_request(
      op, asked, [&](const Request& request) { return choose_fastest(request, memory, &clock); });
}

TEST(choose_fastest, takes_what_was_measured_to_be_fastest_and_says_so) {
  Memory memory;
  const ChosenKernel chosen = choose(Contraction{}, &memory);
  EXPECT_EQ(chosen.offer.implementation, "second");
  EXPECT_EQ(chosen.why, "fastest of 2 measured: first 40 ms, second 20 ms");
  EXPECT_TRUE(chosen.offer.run);
  ASSERT_EQ(memory.records.size(), 1u);
  EXPECT_EQ(memory.records.begin()->second, (KernelRecord{"second", chosen.why}));
}

// The reference takes no time here, and is no candidate all the same.
TEST(choose_fastest, the_first_stays_unless_another_is_an_eighth_faster) {
  for (const auto& [second, expected] :
       {std::pair{40., "first"}, {36., "first"}, {35., "second"}, {60., "first"}}) {
    Memory memory;
    EXPECT_EQ(choose(Contraction{.second = second}, &memory).offer.implementation, expected)
        << second;
  }
}

TEST(choose_fastest, measures_once_for_each_kind_of_request) {
  Memory memory;
  const std::string why = choose(Contraction{}, &memory).why;
  EXPECT_GE(runs, 6);
  EXPECT_EQ(choose(Contraction{}, &memory).why, why);
  EXPECT_EQ(runs, 0);
  for (const Asked& other : {Asked{.size = 16}, Asked{.storage = Storage::parse("021")},
                             Asked{.threads = 2}, Asked{.math = Math::f32}}) {
    choose(Contraction{}, &memory, other);
    EXPECT_GT(runs, 0);
  }
  choose(Contraction{.second = 21}, &memory);
  EXPECT_GT(runs, 0);
  EXPECT_EQ(memory.records.size(), 6u);
}

TEST(choose_fastest, the_first_runs_where_nothing_may_be_measured) {
  Memory memory;
  EXPECT_EQ(choose(Contraction{}, &memory, {.deterministic = true}).offer.implementation, "first");
  EXPECT_EQ(choose(Other{}, &memory).offer.implementation, "first");
  EXPECT_EQ(choose(Contraction{}, nullptr).offer.implementation, "first");
  memory.may_measure = false;
  EXPECT_EQ(choose(Contraction{}, &memory).offer.implementation, "first");
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(memory.records.empty());
}

TEST(choose_fastest, a_remembered_kernel_is_taken_only_where_it_still_is) {
  Memory memory;
  choose(Contraction{}, &memory);
  const std::string key = memory.records.begin()->first;
  memory.records[key] = {"first", "as before"};
  memory.may_measure = false;
  const ChosenKernel first = choose(Contraction{}, &memory);
  EXPECT_EQ(first.offer.implementation, "first");
  EXPECT_EQ(first.why, "as before");
  memory.may_measure = true;
  memory.records[key] = {"gone", "as before"};
  EXPECT_EQ(choose(Contraction{}, &memory).offer.implementation, "second");
}

TEST(choose_fastest, one_kernel_needs_no_measurement) {
  Memory memory;
  ChosenKernel chosen = choose(Contraction{.second = -1}, &memory);
  EXPECT_EQ(chosen.offer.implementation, "first");
  EXPECT_EQ(chosen.why, "");
  EXPECT_FALSE(chosen.offer.run);
  chosen.offer.get_ready();
  EXPECT_TRUE(chosen.offer.run);
  EXPECT_EQ(runs, 0);
}

TEST(choose_fastest, the_reference_runs_what_no_other_takes) {
  Memory memory;
  const ChosenKernel chosen = choose(Contraction{.first = -1, .second = -1}, &memory);
  EXPECT_EQ(chosen.offer.implementation, "reference");
  EXPECT_TRUE(memory.records.empty());
}

// Each run takes longer than the one before, or all as long, but with a neighbour on a core: nobody
// can say how long it takes.
TEST(choose_fastest, on_a_busy_machine_the_first_is_taken_and_no_file_remembers) {
  for (const bool neighbour : {false, true}) {
    Memory busy;
    unsteady = !neighbour;
    const ChosenKernel chosen = choose(Contraction{}, &busy, {}, neighbour);
    unsteady = false;
    EXPECT_EQ(chosen.offer.implementation, "first");
    EXPECT_EQ(chosen.why, "first of 2: too busy to tell which is fastest");
    ASSERT_EQ(busy.records.size(), 1u);
    EXPECT_FALSE(busy.records.begin()->second.lasting);
  }
}

template <class T>
ChosenKernel asked_only(const T& op) {
  return with_request(op, {}, [](const Request& request) { return first_to_take(request); });
}

TEST(first_to_take, names_those_among_which_a_measurement_would_decide) {
  const ChosenKernel chosen = asked_only(Contraction{});
  EXPECT_EQ(chosen.offer.implementation, "first");
  EXPECT_EQ(chosen.why, "not measured; first of 2: first, second");
  EXPECT_FALSE(chosen.offer.run) << "an offer that is only asked for was made ready";
  EXPECT_EQ(asked_only(Contraction{.first = -1}).offer.implementation, "second");
  EXPECT_EQ(asked_only(Contraction{.first = -1}).why, "");
  EXPECT_EQ(asked_only(Other{}).why, "");
  EXPECT_EQ(asked_only(Contraction{.first = -1, .second = -1}).offer.implementation, "reference");
}

TEST(choose_fastest, batches_of_about_one_size_are_measured_once) {
  Memory memory;
  std::set<std::int64_t> measured;
  for (std::int64_t size = 1; size <= 100; ++size) {
    choose(Contraction{}, &memory, {.size = size});
    if (runs > 0) measured.insert(size);
  }
  for (const std::int64_t each : {1, 2, 15, 16, 17, 20, 21, 24, 32, 33, 40, 41, 64, 65, 80, 81, 96})
    EXPECT_TRUE(measured.contains(each)) << each;
  for (const std::int64_t shared : {18, 19, 22, 31, 39, 63, 66, 79, 82, 95, 99, 100})
    EXPECT_FALSE(measured.contains(shared)) << shared;
  EXPECT_EQ(memory.records.size(), measured.size());
}

TEST(choose_fastest, a_size_that_was_remembered_by_itself_keeps_its_kernel) {
  Memory memory;
  choose(Contraction{}, &memory, {.size = 18});
  ASSERT_EQ(memory.records.size(), 1u);
  std::string key = memory.records.begin()->first;
  for (std::size_t at = key.find("<20"); at != key.npos; at = key.find("<20"))
    key.replace(at, 3, "19");
  memory.records[key] = {"first", "as before"};
  EXPECT_EQ(choose(Contraction{}, &memory, {.size = 19}).why, "as before");
  EXPECT_NE(choose(Contraction{}, &memory, {.size = 18}).why, "as before");
}

TEST(choose_fastest, a_size_that_the_kernel_of_its_class_declines_is_measured_by_itself) {
  Memory memory;
  choose(Contraction{}, &memory, {.size = 18});
  const std::string shared = memory.records.begin()->first;
  memory.records[shared].kernel = "gone";
  for (const bool again : {false, true}) {
    const ChosenKernel chosen = choose(Contraction{}, &memory, {.size = 19});
    EXPECT_EQ(chosen.offer.implementation, "second");
    EXPECT_EQ(runs == 0, again);
  }
  EXPECT_EQ(memory.records.at(shared).kernel, "gone");
}

}  // namespace
}  // namespace narrowgauge::choose_fastest_test
