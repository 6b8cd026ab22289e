// SPDX-License-Identifier: Apache-2.0
// Each request for memory fails by itself: the call says so, and whatever it worked on goes on as
// if it had not been called. Models and training by a Trainer.
#include "support/failing_allocation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <set>

#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/narrowgauge.h"

namespace narrowgauge::failing_allocation_test {
namespace {

using failing_allocation::fail_each_request_of;
using failing_allocation::Pause;

constexpr auto nothing_to_check = [] {};
constexpr std::size_t most = 60;

class Allocation : public testing::Test {
 protected:
  const std::array<Tensor, 2> batch = small_batch(1);
  const testing_files::TemporaryFolder folder;
};

Optimizer mixed() {
  Optimizer optimizer = adam(0.01);
  enable_mixed_precision(optimizer, DType::bf16);
  return optimizer;
}

Optimizer averaged() {
  Optimizer optimizer = mixed();
  optimizer.ema_decay = 0.9;
  return optimizer;
}

const TrainerOptions same_bits{.deterministic = true, .threads = 2};

// Two trainings of the same bits, of which one meets failures.
struct Twins {
  explicit Twins(Optimizer optimizer = mixed(), TrainerOptions options = same_bits)
      : trainer(model, softmax_cross_entropy(), optimizer, options),
        of_twin(twin, softmax_cross_entropy(), optimizer, options) {}
  void step(std::uint64_t number) {
    trainer.step(small_batch(number));
    of_twin.step(small_batch(number));
  }
  void expect_same() const { EXPECT_EQ(model.sha256(), twin.sha256()); }

  Model model{"small", small_network(), 3}, twin{"small", small_network(), 3};
  Trainer trainer, of_twin;
};

TEST_F(Allocation, of_a_model) {
  const std::size_t failures = fail_each_request_of(
      "Model()", most, [&] { Model("small", small_network(), 3); }, nothing_to_check);
  EXPECT_GT(failures, most);
  Model model("small", small_network(), 3);
  const Tensor expected = model.predict(batch[0]);
  fail_each_request_of(
      "Model::clone()", most, [&] { EXPECT_EQ(model.clone().sha256(), model.sha256()); },
      [&] { EXPECT_TRUE(model.predict(batch[0]).same_bits(expected)); });
  const std::string weights = model.sha256();
  const std::string name = model.state_names().at(0);
  const Tensor former = model.state(name), changed = Tensor::full(DType::f32, former.dims(), 2);
  fail_each_request_of(
      "set_state()", most,
      [&] {
        model.set_state(name, changed);
        const Pause pause;
        model.set_state(name, former);
      },
      [&] { EXPECT_EQ(model.sha256(), weights); });
  fail_each_request_of(
      "set_precision()", most,
      [&] {
        model.set_precision({.in_f64 = true});
        const Pause pause;
        model.set_precision({});
      },
      [&] {
        EXPECT_EQ(model.sha256(), weights);
        EXPECT_TRUE(model.predict(batch[0]).same_bits(expected));
      });
}

TEST_F(Allocation, of_predictions) {
  const Tensor expected = Model("small", small_network(), 3).predict(batch[0]);
  Model model("small", small_network(), 3);
  const std::string weights = model.sha256();
  std::optional<Model> fresh;
  fail_each_request_of(
      "first predict()", most,
      [&] {
        {
          const Pause pause;
          fresh.emplace("small", small_network(), 3);
        }
        EXPECT_TRUE(fresh->predict(batch[0]).same_bits(expected));
      },
      [&] {
        EXPECT_EQ(fresh->sha256(), weights);
        EXPECT_TRUE(fresh->predict(batch[0]).same_bits(expected));
      });
  fail_each_request_of(
      "predict()", most, [&] { model.predict(batch[0]); },
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
      "load()", most,
      [&] {
        model->load(path);
        const Pause pause;
        EXPECT_EQ(model->sha256(), loaded);
        model.emplace("small", small_network(), 3);
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

void expect_no_temporaries(const std::string& folder) {
  for (const std::string& name : files_in(folder))
    EXPECT_EQ(name.find(".tmp"), std::string::npos) << name;
}

TEST_F(Allocation, of_saving) {
  const Model model("small", small_network(), 3);
  const std::string path = folder / "saved.safetensors";
  bool saved = false;
  fail_each_request_of(
      "save()", most,
      [&] {
        {
          const Pause pause;
          std::filesystem::remove(path), saved = false;
        }
        model.save(path), saved = true;
      },
      [&] { EXPECT_EQ(files_in(folder.path()).empty(), !saved); });
  model.save(path);
  EXPECT_EQ(files_in(folder.path()), std::set<std::string>{"saved.safetensors"});
  Model twin("small", small_network(), 4);
  twin.load(path);
  EXPECT_EQ(twin.sha256(), model.sha256());
}

TEST_F(Allocation, of_a_trainer) {
  Twins twins;
  std::uint64_t steps = 0;
  twins.step(steps++);
  const auto goes_on = [&] {
    EXPECT_EQ(twins.trainer.skipped_steps(), 0);
    if (++steps % 8 == 0) twins.step(steps);
    twins.expect_same();
  };
  const auto take_over = [&](const Optimizer& optimizer) {
    return [&, optimizer] {
      Trainer(twins.model, softmax_cross_entropy(), optimizer, same_bits);
      const Pause pause;
      twins.trainer = twins.of_twin.clone(twins.model);
    };
  };
  fail_each_request_of("Trainer()", most, take_over(sgd(0.1)), goes_on);
  Optimizer wide = sgd(0.1);
  wide.precision.in_f64 = true;
  Optimizer narrow = mixed();
  narrow.precision.master_weights = false;
  Model kept("small", small_network(), 3);
  const std::string weights = kept.sha256();
  const Tensor before = kept.predict(batch[0]);
  for (const Optimizer& optimizer : {wide, narrow})
    fail_each_request_of(
        "Trainer() in another format", most,
        [&] {
          Trainer(kept, softmax_cross_entropy(), optimizer, same_bits);
          const Pause pause;
          kept = Model("small", small_network(), 3);
          kept.predict(batch[0]);
        },
        [&] {
          EXPECT_EQ(kept.sha256(), weights);
          EXPECT_TRUE(kept.predict(batch[0]).same_bits(before));
        });
  fail_each_request_of(
      "Trainer::clone()", most,
      [&] {
        static_cast<void>(twins.of_twin.clone(twins.model));
        const Pause pause;
        twins.trainer = twins.of_twin.clone(twins.model);
      },
      goes_on);
}

TEST_F(Allocation, of_a_step) {
  Twins twins;
  std::uint64_t step = 0;
  for (; step < 2; ++step) twins.step(step);
  const std::array<Tensor, 2> next = small_batch(2);
  fail_each_request_of(
      "step()", most,
      [&] {
        twins.trainer.step(next);
        const Pause pause;
        twins.of_twin.step(next);
      },
      [&] { twins.expect_same(); });
  twins.expect_same();
}

TEST_F(Allocation, of_a_step_in_parts) {
  TrainerOptions in_parts = same_bits;
  in_parts.accumulation = 4;
  Twins twins(mixed(), in_parts);
  std::uint64_t number = 0;
  twins.step(number++);
  twins.step(number++);
  const auto both = [&] {
    const std::array<Tensor, 2> next = small_batch(number++);
    twins.trainer.step(next);
    const Pause pause;
    twins.of_twin.step(next);
  };
  const auto goes_on = [&] {
    twins.expect_same();
    if (number % 4 == 0) both();
    twins.expect_same();
  };
  fail_each_request_of("step() in parts", most, both, goes_on);
}

TEST_F(Allocation, of_checkpoints) {
  Twins twins(averaged());
  twins.step(0), twins.step(1), twins.step(2);
  const std::string run = folder / "run", later = folder / "later";
  fail_each_request_of(
      "Trainer::save()", most, [&] { twins.trainer.save(run); },
      [&] { expect_no_temporaries(run); });
  twins.of_twin.save(run);  // which nobody holds
  const std::string saved = twins.model.sha256();
  twins.step(3), twins.step(4);
  const std::string trained = twins.model.sha256();
  twins.of_twin.save(later);
  std::uint64_t failures = 0;
  fail_each_request_of(
      "Trainer::resume()", most,
      [&] {
        twins.trainer.resume(run);
        const Pause pause;
        EXPECT_EQ(twins.model.sha256(), saved);
        twins.trainer.resume(later);
      },
      [&] {
        EXPECT_EQ(twins.model.sha256(), trained);
        EXPECT_EQ(twins.trainer.skipped_steps(), 0);
        if (++failures % 16 != 0) return;
        twins.step(5);
        twins.expect_same();
        twins.trainer.resume(later), twins.of_twin.resume(later);
      });
  fail_each_request_of(
      "swap_averages()", most,
      [&] {
        twins.trainer.swap_averages();
        const Pause pause;
        twins.trainer.swap_averages();
      },
      [&] { twins.expect_same(); });
}

TEST_F(Allocation, of_an_evaluation) {
  Twins twins(averaged());
  const auto data = small_source(64);
  const FitOptions first{.epochs = 1, .batch = 32};
  twins.trainer.fit(data, data, first);
  twins.of_twin.fit(data, data, first);
  const double loss = twins.of_twin.evaluate(data, 32).loss;
  const auto evaluates = [&] { EXPECT_EQ(twins.trainer.evaluate(data, 32).loss, loss); };
  const auto same = [&] {
    evaluates();
    twins.expect_same();
  };
  fail_each_request_of("evaluate()", most, evaluates, same);
  fail_each_request_of(
      "first evaluate()", most,
      [&] {
        {
          const Pause pause;
          twins.trainer = twins.of_twin.clone(twins.model);
        }
        evaluates();
      },
      same);
}

TEST_F(Allocation, of_a_fit) {
  Twins twins;
  const auto data = small_source(64);
  std::int64_t epochs = 0;
  fail_each_request_of(
      "fit()", most, [&] { twins.trainer.fit(data, data, {.epochs = ++epochs, .batch = 32}); },
      nothing_to_check);
  const FitOptions last{.epochs = epochs + 1, .batch = 32};
  twins.trainer.fit(data, data, last);
  twins.of_twin.fit(data, data, last);
  twins.expect_same();
}

}  // namespace
}  // namespace narrowgauge::failing_allocation_test
