// SPDX-License-Identifier: Apache-2.0
// Each request for memory fails by itself: the call says so, and whatever it worked on goes on as
// if it had not been called. Loops of one's own.
#include <gtest/gtest.h>

#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/narrowgauge.h"
#include "support/failing_allocation.h"

namespace narrowgauge::failing_steps_test {
namespace {

using failing_allocation::fail_each_request_of;
using failing_allocation::Pause;

Objective classifying() {
  return [](Network& net) { return softmax_cross_entropy()(net, small_network()(net)); };
}

Optimizer mixed() {
  Optimizer optimizer = adam(0.01);
  enable_mixed_precision(optimizer, DType::bf16);
  return optimizer;
}

constexpr std::size_t most = 50;
const StepOptions same_bits{.deterministic = true, .threads = 2};

// Two trainings of the same bits, of which one meets failures.
class Steps : public testing::Test {
 protected:
  Steps() {
    for (std::uint64_t i = 0; i < 2; ++i) both([&](Step& each) { each.step(small_batch(i)); });
  }
  template <class Call>
  void both(const Call& call) {
    call(step);
    const Pause pause;
    call(of_twin);
  }
  void expect_same() {
    EXPECT_EQ(model.sha256(), twin.sha256());
    EXPECT_EQ(step.applied_steps(), of_twin.applied_steps());
  }
  // Now and then a whole step.
  void goes_on() {
    expect_same();
    if (++failures_ % 16 != 0) return;
    both([&](Step& each) { each.step(small_batch(failures_)); });
    expect_same();
  }

  Model model{"small", small_network(), 3}, twin{"small", small_network(), 3};
  Step step{model, classifying(), mixed(), same_bits};
  Step of_twin{twin, classifying(), mixed(), same_bits};
  const testing_files::TemporaryFolder folder;

 private:
  std::uint64_t failures_ = 0;
};

TEST_F(Steps, are_made) {
  Optimizer wide = sgd(0.1);
  wide.precision.in_f64 = true;
  Model other("small", small_network(), 3);
  const std::string weights = other.sha256();
  const Tensor images = small_batch(1)[0], before = other.predict(images);
  const auto as_it_was = [&] {
    EXPECT_EQ(other.sha256(), weights);
    EXPECT_TRUE(other.predict(images).same_bits(before));
  };
  for (const Optimizer& optimizer : {mixed(), wide})
    fail_each_request_of(
        "Step()", most,
        [&] {
          Step(other, classifying(), optimizer, same_bits);
          const Pause pause;
          other = Model("small", small_network(), 3);
          other.predict(images);
        },
        as_it_was);
}

TEST_F(Steps, are_cloned) {
  Model copy = model.clone();
  std::int64_t applied = 0;
  fail_each_request_of(
      "Step::clone()", most,
      [&] {
        {
          const Pause pause;
          copy = model.clone();
          static_cast<void>(step.clone(copy));  // another of its name goes on with its states
          applied = step.applied_steps();
        }
        static_cast<void>(step.clone(copy));
      },
      [&] {
        const Step next(copy, classifying(), mixed(), same_bits);
        EXPECT_EQ(next.applied_steps(), applied);
        goes_on();
      });
}

TEST_F(Steps, take_whole_steps) {
  std::uint64_t number = 5;
  fail_each_request_of(
      "Step::step()", most,
      [&] {
        ++number;
        both([&](Step& each) { each.step(small_batch(number)); });
      },
      [&] { goes_on(); });
}

class Parts : public Steps {
 protected:
  void begin() { ++number_, add(number_); }
  void add(std::uint64_t number) {
    both([&](Step& each) { each.backward(small_batch(number), 0.5); });
  }
  void add_second() { add(number_ + 100); }
  void look() {
    both([](Step& each) { each.gradients(); });
  }
  void update() {
    both([](Step& each) { each.update(); });
  }

  std::uint64_t number_ = 5;
};

TEST_F(Parts, are_added) {
  const auto rest = [&] {
    add_second(), update();
    expect_same();
  };
  fail_each_request_of(
      "first backward()", most,
      [&] {
        begin();
        const Pause pause;
        rest();
      },
      [&] {
        add(number_);
        rest();
      });
  fail_each_request_of(
      "second backward()", most,
      [&] {
        {
          const Pause pause;
          begin();
        }
        add_second();
        const Pause pause;
        update();
      },
      rest);
}

TEST_F(Parts, are_given_out_and_taken) {
  fail_each_request_of(
      "update()", most,
      [&] {
        {
          const Pause pause;
          begin(), add_second();
        }
        update();
      },
      [&] {
        update();
        expect_same();
      });
  fail_each_request_of(
      "gradients()", most,
      [&] {
        {
          const Pause pause;
          begin();
        }
        look();
        const Pause pause;
        update();
      },
      [&] {
        add_second(), look(), update();
        expect_same();
      });
}

TEST_F(Steps, go_by_a_grad_scaler) {
  Model one("small", small_network(), 3), other("small", small_network(), 3);
  Step of_one(one, classifying(), mixed(), same_bits);
  Step of_other(other, classifying(), mixed(), same_bits);
  GradScaler scaler({.initial = 1024}), of_twin({.initial = 1024});
  std::uint64_t number = 5;
  const auto go = [&](GradScaler& each, Step& taken, int stage) {
    if (stage == 0) each.backward(taken, small_batch(number));
    if (stage == 1) each.unscale(taken);
    if (stage == 2) each.step(taken);
    if (stage == 3) each.update();
  };
  const auto both_go = [&](int stage) {
    go(scaler, of_one, stage);
    const Pause pause;
    go(of_twin, of_other, stage);
  };
  for (int stage = 0; stage < 3; ++stage)
    fail_each_request_of(
        concat("grad scaler, stage ", stage), most,
        [&] {
          {
            const Pause pause;
            ++number;
            for (int i = 0; i < stage; ++i) both_go(i);
          }
          both_go(stage);
          const Pause pause;
          for (int i = stage + 1; i < 4; ++i) both_go(i);
        },
        [&] {
          for (int i = stage; i < 4; ++i) both_go(i);
          EXPECT_EQ(one.sha256(), other.sha256());
          EXPECT_EQ(scaler.scale(), of_twin.scale());
        });
}

TEST_F(Steps, freeze_and_thaw) {
  fail_each_request_of(
      "Step::freeze()", most,
      [&] {
        step.freeze("conv.*");
        const Pause pause;
        step.thaw("conv.*");
      },
      [&] { expect_same(); });
  both([](Step& each) { each.freeze("conv.*"); });
  fail_each_request_of(
      "Step::thaw()", most,
      [&] {
        step.thaw("conv.*");
        const Pause pause;
        step.freeze("conv.*");
      },
      [&] { goes_on(); });
}

TEST_F(Steps, resume) {
  const std::string run = folder / "run", later = folder / "later";
  fail_each_request_of(
      "Step::save()", most, [&] { step.save(run); }, [&] { goes_on(); });
  step.save(run);
  const std::string saved = model.sha256();
  both([](Step& each) { each.freeze("conv.*"); });
  both([](Step& each) { each.step(small_batch(7)); });
  both([](Step& each) { each.thaw("conv.*"); });
  both([](Step& each) { each.freeze("conv_2.*"); });
  both([](Step& each) { each.step(small_batch(8)); });
  step.save(later);
  fail_each_request_of(
      "Step::resume()", most,
      [&] {
        step.resume(run);
        const Pause pause;
        EXPECT_EQ(model.sha256(), saved);
        step.resume(later);
        of_twin.resume(later);
      },
      [&] { goes_on(); });
}

}  // namespace
}  // namespace narrowgauge::failing_steps_test
