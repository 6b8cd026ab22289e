// SPDX-License-Identifier: Apache-2.0
// The choice among kernels by measurement, the file that remembers it, and checkpoints that keep
// it.
#include "api/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "api/small_training.h"
#include "compile/choose_fastest.h"
#include "io/files.h"

namespace narrowgauge {
namespace {

using testing_files::TemporaryFolder;

int runs = 0;
bool unsteady = false;  // every run takes twice as long as the one before
double now = 0;         // seconds

// A clock that only kernels move on.
class Clock : public Stopwatch {
 public:
  explicit Clock(bool neighbour) : neighbour_(neighbour) {}
  double seconds() override { return now; }
  double waited() override { return neighbour_ ? 1 : 0; }

 private:
  bool neighbour_;  // takes a core in every turn
};

// y = 2 x by a kernel that takes its time, by one that does not, or by the reference.
struct Twice {
  static constexpr OpInfo info{.name = "Twice",
                               .domain = "test",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .fusion = Fusion::contraction};
  bool quick_is_there = true;
  static void attributes(auto& self, auto&& visit) { visit("quick", self.quick_is_there); }
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  static Offer made(const Request& request, int milliseconds) {
    Offer offer;
    offer.run = [milliseconds, count = element_count(request.inputs[0].dims)](const auto& call) {
      ++runs;
      now += 1e-3 * (milliseconds + (unsteady ? 1 << std::min(runs, 8) : 0));
      for (std::int64_t i = 0; i < count; ++i)
        call.outputs[0].template as<float>()[i] = 2 * call.inputs[0].template as<float>()[i];
    };
    return offer;
  }
  static Offer slow(const Request& request) { return made(request, 40); }
  static Offer quick(const Request& request) {
    if (!request.as<Twice>().quick_is_there) return Offer::decline("not there");
    return made(request, 0);
  }
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {{"slow", slow}, {"quick", quick}, {"reference", slow}};
    return list;
  }
  static std::vector<Sample<Twice>> samples() { return {}; }
};

class Memory : public KernelMemory {
 public:
  std::optional<KernelRecord> find(const std::string& key) override {
    const auto found = records.find(key);
    return found == records.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(const std::string& key, const KernelRecord& record) override { records[key] = record; }
  KernelRecords records;
};

ChosenKernel choose(Twice op, KernelMemory* memory, bool deterministic = false,
                    std::int64_t size = 8, bool neighbour = false) {
  const Operand operand{.dims = {size}, .strides = {1}};
  const Attributes attributes = Attributes::of(op);
  const std::vector<Operand> operands{operand};
  runs = 0;
  Clock clock(neighbour);
  const Target target = Target::machine();
  return choose_fastest({record_of<Twice>(), attributes, operands, operands, target, Math::ieee,
                         "node", deterministic},
                        memory, &clock);
}

TEST(choose_fastest, takes_what_was_measured_to_be_fastest_and_says_so) {
  Memory memory;
  const ChosenKernel chosen = choose({}, &memory);
  EXPECT_EQ(chosen.offer.implementation, "quick");
  EXPECT_TRUE(chosen.why.starts_with("fastest of 2 measured: slow 4")) << chosen.why;
  ASSERT_EQ(memory.records.size(), 1u);
  EXPECT_EQ(memory.records.begin()->second.kernel, "quick");
}

TEST(choose_fastest, measures_once_for_each_kind_of_request) {
  Memory memory;
  const std::string why = choose({}, &memory).why;
  EXPECT_GE(runs, 6);
  EXPECT_EQ(choose({}, &memory).why, why);
  EXPECT_EQ(runs, 0);
  choose({}, &memory, false, 16);
  EXPECT_GT(runs, 0);
  EXPECT_EQ(memory.records.size(), 2u);
}

TEST(choose_fastest, the_first_runs_where_nothing_may_be_measured) {
  Memory memory;
  EXPECT_EQ(choose({}, &memory, true).offer.implementation, "slow");
  EXPECT_EQ(choose({}, nullptr).offer.implementation, "slow");
  KernelChoices without_cache(nullptr);
  EXPECT_EQ(choose({}, &without_cache).offer.implementation, "slow");
  EXPECT_TRUE(memory.records.empty());
}

TEST(choose_fastest, a_remembered_kernel_is_taken_only_where_it_still_is) {
  Memory memory;
  choose({}, &memory);
  const std::string key = memory.records.begin()->first;
  memory.records[key] = {"slow", "as before"};
  const ChosenKernel slow = choose({}, &memory);
  EXPECT_EQ(slow.offer.implementation, "slow");
  EXPECT_EQ(slow.why, "as before");
  memory.records[key] = {"gone", "as before"};
  EXPECT_EQ(choose({}, &memory).offer.implementation, "quick");
}

TEST(choose_fastest, one_kernel_needs_no_measurement) {
  Memory memory;
  const ChosenKernel chosen = choose({.quick_is_there = false}, &memory);
  EXPECT_EQ(chosen.offer.implementation, "slow");
  EXPECT_EQ(chosen.why, "");
  EXPECT_EQ(runs, 0);
}

// Each run takes longer than the one before, or all as long, but with a neighbour on a core: nobody
// can say how long it takes.
TEST(choose_fastest, on_a_busy_machine_the_first_is_taken_and_no_file_remembers) {
  for (const bool neighbour : {false, true}) {
    Memory busy;
    unsteady = !neighbour;
    const ChosenKernel chosen = choose({}, &busy, false, 8, neighbour);
    unsteady = false;
    EXPECT_EQ(chosen.offer.implementation, "slow");
    EXPECT_EQ(chosen.why, "first of 2: too busy to tell which is fastest");
    ASSERT_EQ(busy.records.size(), 1u);
    EXPECT_FALSE(busy.records.begin()->second.lasting);
  }
}

TEST(kernel_cache, keeps_what_is_not_lasting_to_itself) {
  TemporaryFolder folder;
  const std::string path = folder / "cache.json";
  KernelCache cache(path, "machine");
  cache.keep("steady", {"tiles", "fastest"});
  cache.keep("busy", {"onednn", "first", false});
  cache.save();
  EXPECT_EQ(cache.find("busy")->kernel, "onednn");
  EXPECT_EQ(KernelCache(path, "machine").find("busy"), std::nullopt);
  EXPECT_EQ(KernelCache(path, "machine").find("steady")->kernel, "tiles");
}

TEST(kernel_cache, another_process_finds_what_was_kept) {
  TemporaryFolder folder;
  const std::string path = folder / "deep/cache.json";
  KernelCache first(path, "machine");
  first.keep("key \"1\"", {"tiles", "fastest"});
  EXPECT_FALSE(std::filesystem::exists(path));
  first.save();
  KernelCache second(path, "machine");
  EXPECT_EQ(second.find("key \"1\""), (KernelRecord{"tiles", "fastest"}));
  EXPECT_EQ(second.find("key 2"), std::nullopt);
}

// Collects warnings while it lives.
class Warnings {
 public:
  Warnings() {
    set_log_sink([this](LogLevel level, const std::string& message) {
      if (level == LogLevel::warning) lines.push_back(message);
    });
  }
  ~Warnings() { set_log_sink({}); }
  std::vector<std::string> lines;
};

TEST(kernel_cache, a_damaged_file_costs_one_warning_and_is_replaced) {
  for (const char* text :
       {"", "{", "[]", R"({"version":9})", R"({"version":1,"machine":"machine"})",
        R"({"version":1,"machine":"machine","kernels":{"a":{"kernel":1}}})",
        R"({"version":1,"machine":"another","kernels":{}})"}) {
    TemporaryFolder folder;
    const std::string path = folder / "cache.json";
    testing_files::write_file(path, text);
    const Warnings warnings;
    KernelCache cache(path, "machine");
    EXPECT_EQ(cache.find("key"), std::nullopt);
    cache.keep("key", {"tiles", "fastest"});
    cache.save();
    ASSERT_EQ(warnings.lines.size(), 1u) << text;
    EXPECT_NE(warnings.lines[0].find(path), std::string::npos);
    EXPECT_EQ(KernelCache(path, "machine").find("key")->kernel, "tiles") << text;
  }
}

double used_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

TEST(kernel_cache, no_text_takes_time_or_memory_out_of_proportion) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      parse_kernel_records(text, "x", "here");
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of(std::string(1'000'000, '[')), "x: is damaged: it is nested too deeply");
  std::string text = R"({"version": 1, "machine": "there")";
  for (int i = 0; i < 60'000; ++i) text += concat(", \"", i, "\": 0");
  const double before = used_seconds();
  EXPECT_EQ(error_of(text + '}'), "x: was written for there");
  EXPECT_LT(used_seconds() - before, 3);
  EXPECT_EQ(error_of(R"({"version": 1.5, "machine": "here", "kernels": {}})"),
            "x: is damaged: expected a whole number as version, found 1.5");
}

TEST(kernel_cache, an_unwritable_place_costs_one_warning) {
  TemporaryFolder folder;
  testing_files::write_file(folder / "file", "");
  const Warnings warnings;
  KernelCache cache(folder / "file/cache.json", "machine");
  for (const char* key : {"a", "b"}) {
    cache.keep(key, {"tiles", "fastest"});
    cache.save();
    EXPECT_EQ(cache.find(key)->kernel, "tiles");
  }
  EXPECT_EQ(warnings.lines.size(), 1u);
}

TEST(kernel_cache, writers_at_once_leave_a_whole_file) {
  TemporaryFolder folder;
  const std::string path = folder / "cache.json";
  std::vector<pid_t> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.push_back(fork());
    if (writers.back() != 0) continue;
    KernelCache cache(path, "machine");
    for (int i = 0; i < 20; ++i) {
      cache.keep(concat(writer, '/', i), {"tiles", std::string(500, 'x')});
      cache.save();
    }
    _exit(0);
  }
  const Warnings warnings;
  for (const pid_t writer : writers) {
    int status = 0;
    waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_NO_THROW(read_kernel_records(path, "machine"));
  }
  const KernelRecords records = read_kernel_records(path, "machine");
  // The last to write had all of its own.
  EXPECT_GE(records.size(), 20u);
}

TEST(kernel_cache, off_means_none) {
  setenv("NARROWGAUGE_KERNEL_CACHE", "off", 1);
  EXPECT_EQ(kernel_cache(), nullptr);
  TemporaryFolder folder;
  setenv("NARROWGAUGE_KERNEL_CACHE", (folder / "cache.json").c_str(), 1);
  KernelMemory* cache = kernel_cache();
  ASSERT_NE(cache, nullptr);
  EXPECT_EQ(kernel_cache(), cache);
  setenv("NARROWGAUGE_KERNEL_CACHE", "off", 1);
}

BuildNetwork twice_network() {
  return [](Network& net) {
    const Value x = net.flatten(net.input("images", {net.batch(), 1, 12, 12}));
    return net.linear(net.apply(Twice{}, {x}, "twice"), 4);
  };
}

std::string kernel_of(const Trainer& trainer) {
  for (const Trainer::KernelChoice& kernel : trainer.kernels())
    if (kernel.op == "test.Twice") return kernel.implementation;
  return "";
}

// The gradient of Twice is not asked for: its input is data.
TEST(checkpoint, a_resumed_training_keeps_the_kernels_it_began_with) {
  TemporaryFolder folder;
  setenv("NARROWGAUGE_KERNEL_CACHE", (folder / "cache.json").c_str(), 1);
  Model model("twice", twice_network());
  Trainer trainer(model, softmax_cross_entropy(), sgd(0.1));
  trainer.step(small_batch(0));
  const std::string began = kernel_of(trainer), other = began == "slow" ? "quick" : "slow";
  trainer.save(folder / "run");
  Checkpoint checkpoint = read_checkpoint(folder / "run");
  std::string& text = checkpoint.files.at("kernels.json");
  KernelRecords records = parse_kernel_records(text, "kernels.json", "any");
  ASSERT_FALSE(records.empty());
  for (auto& [key, record] : records) record.kernel = record.kernel == began ? other : "onednn";
  text = kernel_records_text(records, "any");
  Model again("twice", twice_network());
  Trainer resumed(again, softmax_cross_entropy(), sgd(0.1));
  resumed.resume(checkpoint);
  resumed.step(small_batch(1));
  EXPECT_EQ(kernel_of(resumed), other);
  setenv("NARROWGAUGE_KERNEL_CACHE", "off", 1);
}

}  // namespace
}  // namespace narrowgauge
