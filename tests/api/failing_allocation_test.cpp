// SPDX-License-Identifier: Apache-2.0
// Each request for memory fails once: the call says so, and whatever it
// worked on goes on as if it had not been called.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <optional>
#include <set>

#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/narrowgauge.h"

namespace {

constinit std::atomic<std::int64_t> left = 0;  // requests until the one that fails; 0: none does
constinit std::atomic<bool> failed = false;

bool fails() {
  if (left.load(std::memory_order_relaxed) <= 0 || left.fetch_sub(1) != 1) return false;
  failed = true;
  return true;
}

void* take(std::size_t size) {
  void* const memory = fails() ? nullptr : std::malloc(size > 0 ? size : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The other forms of the standard library call these.
void* operator new(std::size_t size) { return take(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

extern "C" {
void* __libc_memalign(std::size_t, std::size_t);

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  *memory = fails() ? nullptr : __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
void* mmap(void* where, std::size_t size, int access, int flags, int file, off_t offset) noexcept {
  if (!fails())
    return reinterpret_cast<void*>(syscall(SYS_mmap, where, size, access, flags, file, offset));
  errno = ENOMEM;
  return MAP_FAILED;
}
}

namespace narrowgauge::failing_allocation_test {
namespace {

int open_files() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

// The numbers of requests that fail: all of the first, then fewer and fewer.
std::int64_t after(std::int64_t number) { return number + 1 + number / 40; }

// Calls until no request fails. After each call that failed `check` looks at what is left: sorting,
// for one, does without the memory that it asks for.
template <class Call, class Check>
void fail_each_request_of(const std::string& what, const Call& call, const Check& check) {
  const int files = open_files();
  std::int64_t failures = 0;
  for (std::int64_t number = 1;; number = after(number)) {
    std::string error;
    failed = false;
    left = number;
    try {
      call();
    } catch (const std::bad_alloc&) {
      error = "bad_alloc";
    } catch (const OutOfMemoryError&) {
      error = "out of memory";
    } catch (const std::exception& other) {
      left = 0;
      error = other.what();
      ADD_FAILURE() << what << ", request " << number << ": " << error;
    }
    left = 0;
    if (!failed) break;
    ++failures;
    EXPECT_EQ(open_files(), files) << what << ", request " << number;
    if (!error.empty()) check();
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << what << ", request " << number << ": " << error;
      return;
    }
  }
  EXPECT_GT(failures, 0) << what;
}

class Allocation : public testing::Test {
 protected:
  const std::array<Tensor, 2> batch = small_batch(1);
  const testing_files::TemporaryFolder folder;
};

TEST_F(Allocation, of_a_model) {
  fail_each_request_of(
      "Model()", [&] { Model("small", small_network(), 3); }, [] {});
}

TEST_F(Allocation, of_predictions) {
  const Tensor expected = Model("small", small_network(), 3).predict(batch[0]);
  Model model("small", small_network(), 3);
  const std::string weights = model.sha256();
  int calls = 0;
  fail_each_request_of(
      "first predict()",
      [&] {
        Model fresh("small", small_network(), 3);
        EXPECT_TRUE(fresh.predict(batch[0]).same_bits(expected));
      },
      [&] {
        if (++calls % 16 == 0) {
          EXPECT_TRUE(model.predict(batch[0]).same_bits(expected));
        }
        EXPECT_EQ(model.sha256(), weights);
      });
  fail_each_request_of(
      "predict()", [&] { model.predict(batch[0]); },
      [&] { EXPECT_TRUE(model.predict(batch[0]).same_bits(expected)); });
}

TEST_F(Allocation, of_loading) {
  Model other("small", small_network(), 4);
  other.set_precision({.narrow = DType::bf16});
  const std::string path = folder / "other.safetensors";
  other.save(path);
  const std::string loaded = other.sha256();
  std::optional<Model> model(std::in_place, "small", small_network(), 3);
  const Tensor before = model->predict(batch[0]);
  const std::string weights = model->sha256();
  fail_each_request_of(
      "load()",
      [&] {
        model->load(path);
        const std::int64_t request = left.exchange(0);
        EXPECT_EQ(model->sha256(), loaded);
        model.emplace("small", small_network(), 3);
        left = request;
      },
      [&] {
        EXPECT_EQ(model->sha256(), weights);
        EXPECT_TRUE(model->predict(batch[0]).same_bits(before));
      });
}

// The names of files in a folder and below.
std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> names;
  if (!std::filesystem::exists(folder)) return names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (!entry.is_directory()) names.insert(entry.path().filename());
  return names;
}

TEST_F(Allocation, of_saving) {
  const Model model("small", small_network(), 3);
  const std::string path = folder / "saved.safetensors";
  bool saved = false;
  fail_each_request_of(
      "save()", [&] { model.save(path), saved = true; },
      [&] { EXPECT_EQ(files_in(folder.path()).empty(), !saved); });
  EXPECT_EQ(files_in(folder.path()), std::set<std::string>{"saved.safetensors"});
  Model twin("small", small_network(), 4);
  twin.load(path);
  EXPECT_EQ(twin.sha256(), model.sha256());
}

Optimizer mixed() {
  Optimizer optimizer = adam(0.01);
  enable_mixed_precision(optimizer, DType::bf16);
  return optimizer;
}

const TrainerOptions same_bits{.deterministic = true, .threads = 2};

TEST_F(Allocation, of_a_step) {
  Model model("small", small_network(), 3), twin("small", small_network(), 3);
  Trainer trainer(model, softmax_cross_entropy(), mixed(), same_bits);
  Trainer of_twin(twin, softmax_cross_entropy(), mixed(), same_bits);
  for (std::uint64_t step = 0; step < 2; ++step)
    trainer.step(small_batch(step)), of_twin.step(small_batch(step));
  const std::array<Tensor, 2> next = small_batch(2);
  fail_each_request_of(
      "step()",
      [&] {
        trainer.step(next);
        const std::int64_t request = left.exchange(0);
        of_twin.step(next);
        left = request;
      },
      [&] { EXPECT_EQ(model.sha256(), twin.sha256()); });
  EXPECT_EQ(model.sha256(), twin.sha256());
}

TEST_F(Allocation, of_checkpoints) {
  Model model("small", small_network(), 3);
  Optimizer averaged = mixed();
  averaged.ema_decay = 0.9;
  Trainer trainer(model, softmax_cross_entropy(), averaged, same_bits);
  trainer.step(batch);
  const std::string run = folder / "run", saved = model.sha256();
  fail_each_request_of(
      "Trainer::save()", [&] { trainer.save(run); },
      [&] {
        for (const std::string& name : files_in(run))
          EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
      });
  Model twin("small", small_network(), 3);
  Trainer of_twin(twin, softmax_cross_entropy(), averaged, same_bits);
  of_twin.resume(run);
  of_twin.save(run);  // which nobody holds
  EXPECT_EQ(twin.sha256(), saved);
}

TEST_F(Allocation, of_an_evaluation_and_a_fit) {
  Model model("small", small_network(), 3), twin("small", small_network(), 3);
  Trainer trainer(model, softmax_cross_entropy(), mixed(), same_bits);
  Trainer of_twin(twin, softmax_cross_entropy(), mixed(), same_bits);
  const auto data = small_source(64);
  trainer.fit(data, data, {.epochs = 1, .batch = 32});
  of_twin.fit(data, data, {.epochs = 1, .batch = 32});
  const double loss = of_twin.evaluate(data, 32).loss;
  fail_each_request_of(
      "evaluate()", [&] { EXPECT_EQ(trainer.evaluate(data, 32).loss, loss); },
      [&] { EXPECT_EQ(model.sha256(), twin.sha256()); });
  fail_each_request_of(
      "fit()", [&] { trainer.fit(data, data, {.epochs = 2, .batch = 32}); }, [] {});
  of_twin.fit(data, data, {.epochs = 2, .batch = 32});
  EXPECT_EQ(model.sha256(), twin.sha256());
}

}  // namespace
}  // namespace narrowgauge::failing_allocation_test
