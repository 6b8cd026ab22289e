// SPDX-License-Identifier: Apache-2.0
// Moving averages of the weights: their formula, and who reads them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "api/small_training.h"
#include "io/files.h"
#include "narrowgauge/step.h"
#include "precision/colouring/policy.h"

namespace narrowgauge::averages_test {
namespace {

using testing_files::TemporaryFolder;

constexpr double decay = 0.9;

Optimizer averaged(Optimizer optimizer, double ema_decay = decay) {
  optimizer.ema_decay = ema_decay;
  return optimizer;
}

bool is_parameter(const std::string& name) { return name.find("running") == std::string::npos; }

std::map<std::string, Tensor> parameters_of(const Model& model) {
  std::map<std::string, Tensor> parameters;
  for (const std::string& name : model.state_names())
    if (is_parameter(name)) parameters[name] = model.state(name);
  return parameters;
}

// The averages as PyTorch's get_ema_multi_avg_fn() says: a copy at first.
class Expected {
 public:
  void add(const Model& model) {
    for (const auto& [name, value] : parameters_of(model)) {
      std::vector<double>& average = averages_[name];
      const bool first = average.empty();
      average.resize(static_cast<std::size_t>(value.size()));
      for (std::int64_t i = 0; i < value.size(); ++i) {
        double& element = average[static_cast<std::size_t>(i)];
        element = first ? value.at(i) : element + (1 - decay) * (value.at(i) - element);
      }
    }
  }
  void expect(const Model& model, double tolerance) const {
    for (const auto& [name, average] : averages_) {
      const Tensor found = model.state(name);
      for (std::size_t i = 0; i < average.size(); ++i)
        ASSERT_NEAR(found.at(static_cast<std::int64_t>(i)), average[i], tolerance) << name;
    }
  }

 private:
  std::map<std::string, std::vector<double>> averages_;
};

struct Training {
  Model model{"small", small_network()};
  Trainer trainer;
  explicit Training(const Optimizer& optimizer)
      : trainer(model, softmax_cross_entropy(), optimizer, {.seed = 3, .deterministic = true}) {}
  StepResult train(std::uint64_t from, std::uint64_t to) {
    StepResult last;
    for (std::uint64_t step = from; step < to; ++step) last = trainer.step(small_batch(step));
    return last;
  }
};

TEST(averages, follow_the_formula_and_leave_the_weights_alone) {
  Training with(averaged(adam(1e-2))), without(adam(1e-2));
  Expected expected;
  for (std::uint64_t step = 0; step < 8; ++step) {
    with.train(step, step + 1);
    without.train(step, step + 1);
    expected.add(with.model);
  }
  const std::string weights = with.model.sha256();
  EXPECT_EQ(weights, without.model.sha256());
  with.trainer.swap_averages();
  EXPECT_NE(with.model.sha256(), weights);
  expected.expect(with.model, 1e-6);
  with.trainer.swap_averages();
  EXPECT_EQ(with.model.sha256(), weights);
}

TEST(averages, follow_the_formula_in_f64) {
  Optimizer optimizer = averaged(adam(1e-2));
  optimizer.precision.in_f64 = true;
  Training run(optimizer);
  Expected expected;
  for (std::uint64_t step = 0; step < 3; ++step) {
    run.train(step, step + 1);
    expected.add(run.model);
  }
  run.trainer.swap_averages();
  expected.expect(run.model, 1e-14);
}

TEST(averages, are_what_is_evaluated) {
  Training run(averaged(sgd(0.1)));
  const auto test = small_source(64);
  const double untrained = run.trainer.evaluate(test).loss;
  EXPECT_EQ(untrained, Training(sgd(0.1)).trainer.evaluate(test).loss) << "no step, no averages";
  run.train(0, 6);
  Training plain(sgd(0.1));
  plain.train(0, 6);
  const double of_averages = run.trainer.evaluate(test).loss;
  EXPECT_NE(of_averages, plain.trainer.evaluate(test).loss);
  run.trainer.swap_averages();
  EXPECT_EQ(run.trainer.evaluate(test).loss, of_averages);
  for (const std::string& name : plain.model.state_names())
    plain.model.set_state(name, run.model.state(name));
  EXPECT_EQ(plain.trainer.evaluate(test).loss, of_averages);
}

TEST(averages, do_not_move_in_a_skipped_step) {
  Optimizer optimizer = averaged(sgd(0.1));
  enable_mixed_precision(optimizer, DType::f16);
  Training run(optimizer);
  run.train(0, 3);
  run.trainer.swap_averages();
  const auto before = parameters_of(run.model);
  run.trainer.swap_averages();
  auto bad = small_batch(3);
  bad[0].values<float>()[0] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(run.trainer.step(bad).applied());
  run.trainer.swap_averages();
  for (const auto& [name, value] : before)
    EXPECT_TRUE(run.model.state(name).same_bits(value)) << name;
}

TEST(averages, are_the_weights_of_a_checkpoint_which_goes_on_from_the_weights_themselves) {
  for (const bool masters : {true, false}) {
    const TemporaryFolder folder;
    Optimizer optimizer = averaged(sgd(0.1));
    enable_mixed_precision(optimizer, DType::bf16);
    optimizer.precision.master_weights = masters;
    Training whole(optimizer), first(optimizer), second(optimizer);
    whole.train(0, 8);
    first.train(0, 5);
    first.trainer.save(folder / "run");
    Model loaded("small", small_network());
    loaded.load(folder / "run");
    second.trainer.resume(folder / "run");
    EXPECT_EQ(second.model.sha256(), first.model.sha256());
    second.train(5, 8);
    EXPECT_EQ(second.model.sha256(), whole.model.sha256());
    const auto test = small_source(32);
    EXPECT_EQ(second.trainer.evaluate(test).loss, whole.trainer.evaluate(test).loss);
    if (masters) {
      first.trainer.swap_averages();
      EXPECT_EQ(loaded.sha256(), first.model.sha256());
    }
  }
}

// What is narrower than f32 would not move by a thousandth of a small way.
TEST(averages, are_in_f32_by_every_policy) {
  for (const std::string& policy : policy_names())
    for (const DType narrow : {DType::f16, DType::bf16}) {
      if (policy == "f32" || format_of_policy(policy).value_or(narrow) != narrow) continue;
      Optimizer optimizer = averaged(sgd(0.05), 0.999);
      enable_mixed_precision(optimizer, narrow);
      optimizer.precision.policy = policy;
      Training run(optimizer);
      run.train(0, 2);
      int seen = 0;
      for (const PlanEntry& entry : run.trainer.plan().entries) {
        if (entry.name.find(".average.") == std::string::npos) continue;
        ++seen;
        EXPECT_EQ(entry.dtype.value_or(DType::f32), DType::f32) << policy << ' ' << entry.name;
      }
      EXPECT_GT(seen, 0) << policy;
    }
}

TEST(averages, of_a_step_are_swapped_as_well) {
  const auto objective = [](Network& net) {
    const Value w = net.parameter("w", {1}, Initial::constant(1));
    return net.op("ReduceSum", {net.op("Mul", {net.input("x", {1}), w})}, "keepdims=0");
  };
  Model model("line", objective);
  Step step(model, objective, averaged(sgd(0.5, 0), 0.75));
  EXPECT_THROW(step.swap_averages(), UsageError);
  const Tensor x = Tensor::full(DType::f32, {1}, 1);
  for (int i = 0; i < 3; ++i) {
    step.backward(std::span(&x, 1));
    step.update();
  }
  EXPECT_EQ(model.state("w").at(0), -0.5);
  step.swap_averages();
  EXPECT_EQ(model.state("w").at(0), 0.75 * (0.75 * 0.5) + 0.25 * -0.5);
  EXPECT_THROW(step.step(std::span(&x, 1)), UsageError);
  EXPECT_THROW(step.freeze("w"), UsageError);
  step.swap_averages();
  EXPECT_EQ(model.state("w").at(0), -0.5);
  EXPECT_TRUE(step.step(std::span(&x, 1)).applied());
}

TEST(averages, that_are_not_there_or_in_the_way_are_refused) {
  for (const double wrong : {-0.1, 1.0, std::nan("")})
    EXPECT_THROW(check(averaged(sgd(0.1), wrong)), UsageError) << wrong;
  Training without(sgd(0.1)), with(averaged(sgd(0.1)));
  without.train(0, 1);
  EXPECT_THROW(without.trainer.swap_averages(), UsageError);
  EXPECT_THROW(with.trainer.swap_averages(), UsageError) << "before the first step";
  with.train(0, 1);
  with.trainer.swap_averages();
  const TemporaryFolder folder;
  EXPECT_THROW(with.train(1, 2), UsageError);
  EXPECT_THROW(with.trainer.save(folder / "run"), UsageError);
  EXPECT_THROW(with.trainer.fit(small_source(64), nullptr, {.batch = 32}), UsageError);
}

}  // namespace
}  // namespace narrowgauge::averages_test
