// SPDX-License-Identifier: Apache-2.0
// The file that remembers which kernel was fastest, and checkpoints that keep it.
#include "api/kernel_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "api/fingerprint.h"
#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/op.h"

namespace narrowgauge::kernel_cache_test {
namespace {

using testing_files::TemporaryFolder;

// y = 2 x by one of two kernels.
struct Twice {
  static constexpr OpInfo info{.name = "Twice",
                               .domain = "test",
                               .inputs = "x:T",
                               .outputs = "y:T",
                               .types = "T:float",
                               .fusion = Fusion::contraction};
  static void attributes(auto&, auto&&) {}
  TensorTypes infer(const Inference& in) const { return {in.type(0)}; }
  static Offer offer(const Request& request) {
    Offer offer;
    offer.run = [count = element_count(request.inputs[0].dims)](const KernelCall& call) {
      for (std::int64_t i = 0; i < count; ++i)
        call.outputs[0].as<float>()[i] = 2 * call.inputs[0].as<float>()[i];
    };
    return offer;
  }
  static std::span<const Kernel> kernels() {
    static constexpr Kernel list[] = {{"slow", offer}, {"quick", offer}, {"reference", offer}};
    return list;
  }
};

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
  for (const char* text : {"{", "[]", "words\nof somebody else\n", R"({"version":9})",
                           R"({"version":1,"machine":"machine"})",
                           R"({"version":1,"machine":"machine","kernels":{"a":{"kernel":1}}})"}) {
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

TEST(kernel_cache, json_of_an_earlier_version_is_taken_over_without_a_word) {
  TemporaryFolder folder;
  const std::string path = folder / "cache.json";
  const Warnings warnings;
  for (const char* writer : {"machine", "another"}) {
    testing_files::write_file(path, kernel_records_text({{"old", {"tiles", "why"}}}, writer));
    const bool own = std::string(writer) == "machine";
    for (const char* fresh : {"new", "newer"}) {
      KernelCache cache(path, "machine");
      EXPECT_EQ(cache.find("old").has_value(), own);
      cache.keep(fresh, {"onednn", "fastest"});
      cache.save();
    }
    KernelCache again(path, "machine");
    EXPECT_EQ(again.find("old").has_value(), own);
    EXPECT_EQ(again.find("new")->kernel, "onednn");
    EXPECT_EQ(again.find("newer")->kernel, "onednn");
    EXPECT_NE(testing_files::read_file(path).at(0), '{');
  }
  EXPECT_EQ(warnings.lines, std::vector<std::string>{});
}

TEST(kernel_cache, is_for_the_kernels_that_it_was_measured_with) {
  const std::string fingerprint = kernels_fingerprint();
  EXPECT_EQ(fingerprint.size(), 12u);
  EXPECT_EQ(fingerprint.find_first_not_of("0123456789abcdef"), fingerprint.npos) << fingerprint;
  EXPECT_TRUE(machine_text().ends_with(", kernels " + fingerprint)) << machine_text();
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
  text = R"({"version": 1, "machine": "here", "kernels": {"a": 0)";
  for (int i = 0; i < 60'000; ++i)
    text += concat(", \"", i, R"(": {"kernel": "tiles", "why": "fastest"})");
  const double before_children = used_seconds();
  EXPECT_NE(error_of(text + "}}"), "no error");
  EXPECT_LT(used_seconds() - before_children, 3);
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

TEST(kernel_cache, writers_at_once_keep_all_that_each_measured) {
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
  KernelCache reader(path, "machine");
  for (const pid_t writer : writers) {
    int status = 0;
    waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (int writer = 0; writer < 4; ++writer)
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(reader.find(concat(writer, '/', i))) << writer << i;
  EXPECT_TRUE(warnings.lines.empty());
}

TEST(kernel_cache, choices_without_a_file_are_not_measured) {
  EXPECT_FALSE(KernelChoices(nullptr).measures());
  KernelCache cache("unused", "machine");
  EXPECT_TRUE(KernelChoices(&cache).measures());
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
}  // namespace narrowgauge::kernel_cache_test
