// SPDX-License-Identifier: Apache-2.0
// Each request for memory fails once, in every public call: the call says so, and whatever it
// worked on goes on as if it had not been called.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <set>

#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/narrowgauge.h"
#include "narrowgauge/npz.h"
#include "narrowgauge/safetensors.h"
#include "narrowgauge/tables.h"

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

// Those of the standard library call these.
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

namespace narrowgauge::allocation_test {
namespace {

using testing_files::TemporaryFolder;

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

// Calls until no request fails. After each failure `check` looks at what is left.
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
    check();
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << what << ", request " << number << ": " << error;
      return;
    }
  }
  EXPECT_GT(failures, 0) << what;
}

class Allocation : public testing::Test {
 protected:
  Allocation() { use_threads(); }
  static void use_threads() {}  // they exist before, as the first call would start them

  const std::array<Tensor, 2> batch = small_batch(1);
  const TemporaryFolder folder;
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
  other.save(folder / "other.safetensors");
  const std::string loaded = other.sha256();
  Model model("small", small_network(), 3);
  const Tensor before = model.predict(batch[0]);
  const std::string weights = model.sha256();
  fail_each_request_of(
      "load()", [&] { model.load(folder / "other.safetensors"); },
      [&] {
        EXPECT_EQ(model.sha256(), weights);
        EXPECT_TRUE(model.predict(batch[0]).same_bits(before));
      });
  EXPECT_EQ(model.sha256(), loaded);
  EXPECT_TRUE(model.predict(batch[0]).same_bits(other.predict(batch[0])));
}

TEST_F(Allocation, of_saving) {
  const Model model("small", small_network(), 3);
  const std::string path = folder / "saved.safetensors";
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      names.insert(entry.path().filename());
    return names;
  };
  fail_each_request_of(
      "save()", [&] { model.save(path); },
      [&] {
        for (const std::string& name : files()) EXPECT_EQ(name, "saved.safetensors");
        if (!files().empty()) read_safetensors(path);
      });
}

std::string train_on(Model& model, Trainer& trainer, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t step = from; step < to; ++step) trainer.step(small_batch(step));
  return model.sha256();
}

Optimizer mixed() {
  Optimizer optimizer = adam(0.01);
  enable_mixed_precision(optimizer, DType::bf16);
  return optimizer;
}

const TrainerOptions same_bits{.deterministic = true, .threads = 2};

TEST_F(Allocation, of_a_trainer) {
  Model model("small", small_network(), 3);
  Trainer former(model, softmax_cross_entropy(), mixed(), same_bits);
  Model twin("small", small_network(), 3);
  Trainer of_twin(twin, softmax_cross_entropy(), mixed(), same_bits);
  std::uint64_t steps = 0;
  fail_each_request_of(
      "Trainer()", [&] { Trainer(model, softmax_cross_entropy(), sgd(0.1), same_bits); },
      [&] {
        EXPECT_EQ(former.skipped_steps(), 0);
        if (steps++ % 8 != 0) return;
        EXPECT_EQ(train_on(model, former, steps, steps + 1),
                  train_on(twin, of_twin, steps, steps + 1));
      });
}

TEST_F(Allocation, of_a_step) {
  Model model("small", small_network(), 3), twin("small", small_network(), 3);
  Trainer trainer(model, softmax_cross_entropy(), mixed(), same_bits);
  Trainer of_twin(twin, softmax_cross_entropy(), mixed(), same_bits);
  std::uint64_t step = 0;
  for (; step < 2; ++step) trainer.step(small_batch(step)), of_twin.step(small_batch(step));
  fail_each_request_of(
      "step()", [&] { trainer.step(small_batch(step)); },
      [&] { EXPECT_EQ(model.sha256(), twin.sha256()); });
  of_twin.step(small_batch(step));
  EXPECT_EQ(model.sha256(), twin.sha256());
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

TEST_F(Allocation, of_checkpoints) {
  Model model("small", small_network(), 3), twin("small", small_network(), 3);
  Optimizer averaged = mixed();
  averaged.ema_decay = 0.9;
  Trainer trainer(model, softmax_cross_entropy(), averaged, same_bits);
  Trainer of_twin(twin, softmax_cross_entropy(), averaged, same_bits);
  train_on(model, trainer, 0, 3);
  train_on(twin, of_twin, 0, 3);
  const std::string run = folder / "run";
  fail_each_request_of(
      "Trainer::save()", [&] { trainer.save(run); },
      [&] {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(run))
          EXPECT_EQ(entry.path().filename().string().find(".tmp"), std::string::npos) << entry;
      });
  of_twin.save(folder / "twin");  // where nothing is locked
  of_twin.save(run);
  const std::string saved = twin.sha256();
  train_on(model, trainer, 3, 5);
  const std::string trained = train_on(twin, of_twin, 3, 5);
  fail_each_request_of(
      "resume()", [&] { trainer.resume(run); }, [&] { EXPECT_EQ(model.sha256(), trained); });
  EXPECT_EQ(model.sha256(), saved);
  of_twin.resume(run);
  EXPECT_EQ(train_on(model, trainer, 3, 6), train_on(twin, of_twin, 3, 6));
  fail_each_request_of(
      "swap_averages()", [&] { trainer.swap_averages(); },
      [&] { EXPECT_EQ(model.sha256(), twin.sha256()); });
}

TEST_F(Allocation, of_engines) {
  const auto data = small_source(32);
  const Model model("small", small_network(), 3);
  ConvertOptions options;
  options.precision = EnginePrecision::int8;
  options.calibration = data;
  options.calibration_samples = 16;
  const Engine expected = convert(model, options);
  const std::string path = folder / "small.onnx";
  expected.save(path);
  const Tensor answer = expected.predict(batch[0]);
  fail_each_request_of(
      "Engine::open()",
      [&] { EXPECT_TRUE(Engine::open(path).predict(batch[0]).same_bits(answer)); }, [] {});
  fail_each_request_of(
      "convert()",
      [&] { EXPECT_TRUE(convert(model, options).predict(batch[0]).same_bits(answer)); },
      [&] { EXPECT_TRUE(expected.predict(batch[0]).same_bits(answer)); });
  fail_each_request_of(
      "to_onnx()", [&] { model.to_onnx(folder / "plain.onnx"); },
      [&] {
        for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
          EXPECT_EQ(entry.path().filename().string().find(".tmp"), std::string::npos) << entry;
      });
}

TEST_F(Allocation, of_a_step_in_parts) {
  const Objective objective = [](Network& net) {
    const Value scores = small_network()(net);
    return softmax_cross_entropy()(net, scores);
  };
  Model model("small", small_network(), 3), twin("small", small_network(), 3);
  Step step(model, objective, mixed(), {.deterministic = true});
  Step of_twin(twin, objective, mixed(), {.deterministic = true});
  step.step(batch), of_twin.step(batch);
  fail_each_request_of(
      "Step::freeze()", [&] { step.freeze("conv*"); },
      [&] { EXPECT_EQ(model.sha256(), twin.sha256()); });
  of_twin.freeze("conv*");
  step.step(batch), of_twin.step(batch);
  EXPECT_EQ(model.sha256(), twin.sha256());
}

TEST_F(Allocation, of_data_sets) {
  const std::string path = folder / "data.npz";
  const std::vector<NamedTensor> arrays{{"x", batch[0]}, {"y", batch[1]}};
  write_npz(path, arrays);
  fail_each_request_of(
      "open_data()", [&] { open_data(path); }, [] {});
  testing_files::write_file(folder / "rows.csv", "a,b,label\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n");
  fail_each_request_of(
      "read_table()", [&] { read_table(folder / "rows.csv"); }, [] {});
}

}  // namespace
}  // namespace narrowgauge::allocation_test
