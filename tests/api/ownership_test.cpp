// SPDX-License-Identifier: Apache-2.0
// Who trains a model shares it: nothing that ends before ends what others still use.
#include <gtest/gtest.h>

#include <optional>

#include "api/small_training.h"
#include "io/files.h"
#include "support/own_process.h"

namespace narrowgauge::ownership_test {
namespace {

using testing_files::TemporaryFolder;
using testing_support::outcome_in_own_process;

Objective classifying() {
  return [](Network& net) { return softmax_cross_entropy()(net, small_network()(net)); };
}

double loss_of_trainer(bool model_ends) {
  std::optional<Model> model(std::in_place, "net", small_network());
  Trainer trainer(*model, softmax_cross_entropy(), sgd(0.05), {.deterministic = true});
  trainer.step(small_batch(0));
  if (model_ends) model.reset();
  const FitOptions options{.epochs = 1, .batch = 16};
  trainer.fit(small_source(64), small_source(32), options);
  return trainer.evaluate(small_source(32)).loss;
}

TEST(ownership, a_trainer_goes_on_where_its_model_is_gone) {
  EXPECT_EQ(outcome_in_own_process([] {
              const TemporaryFolder folder;
              require(loss_of_trainer(true) == loss_of_trainer(false), "another loss");
              std::optional<Model> model(std::in_place, "net", small_network());
              Trainer trainer(*model, softmax_cross_entropy(), sgd(0.05));
              model.reset();
              trainer.step(small_batch(0));
              trainer.save(folder / "run");
              trainer.resume(folder / "run");
              require(trainer.applied_steps() == 1 && trainer.state_bytes() > 0, "no step");
            }),
            "returned");
}

TEST(ownership, a_step_goes_on_where_its_model_is_gone) {
  EXPECT_EQ(outcome_in_own_process([] {
              std::optional<Model> model(std::in_place, "net", small_network());
              Step step(*model, classifying(), adam(), {.deterministic = true});
              Model other("net", small_network());
              Step expected(other, classifying(), adam(), {.deterministic = true});
              model.reset();
              for (std::uint64_t i = 0; i < 3; ++i) {
                expected.step(small_batch(i));
                const double loss = expected.forward(small_batch(9))[0].tensor.at(0);
                step.backward(small_batch(i));
                step.update();
                step.freeze("conv*");
                step.thaw("conv*");
                require(std::abs(step.forward(small_batch(9))[0].tensor.at(0) - loss) < 1e-4,
                        "another loss");
              }
              require(step.applied_steps() == 3 && step.loss_scale() == 1, "other counters");
            }),
            "returned");
}

TEST(ownership, steps_and_trainers_go_on_with_a_model_that_is_moved) {
  EXPECT_EQ(outcome_in_own_process([] {
              std::optional<Model> first(std::in_place, "net", small_network());
              Trainer trainer(*first, softmax_cross_entropy(), sgd(0.05));
              Step step(*first, classifying(), sgd(0.05));
              Model second(std::move(*first));
              first.reset();
              const std::string before = second.sha256();
              trainer.step(small_batch(0));
              const std::string between = second.sha256();
              step.step(small_batch(0));
              require(between != before && second.sha256() != between, "no change");
            }),
            "returned");
}

TEST(ownership, a_log_goes_on_where_model_and_trainer_are_gone) {
  EXPECT_EQ(outcome_in_own_process([] {
              const TemporaryFolder folder;
              TrainingLog log({.events = folder / "events"});
              {
                Model model("net", small_network());
                Trainer trainer(model, softmax_cross_entropy(), sgd(0.05));
                log.watch(model, trainer);
                trainer.step(small_batch(0));
              }
              Progress progress;
              progress.epoch_done = true;
              log.add(progress);
            }),
            "returned");
}

TEST(ownership, a_scaler_takes_a_step_for_no_other_at_its_place) {
  Model model("net", small_network());
  GradScaler scaler({.initial = 4});
  std::optional<Step> step;
  Optimizer optimizer = sgd(0.05);
  for (int i = 0; i < 2; ++i) {  // the second Step lies where the first did
    step.emplace(model, classifying(), optimizer);
    scaler.backward(*step, small_batch(0));
    EXPECT_TRUE(scaler.step(*step));
  }
  Step moved(std::move(*step));
  EXPECT_THROW(scaler.step(moved), UsageError);
}

}  // namespace
}  // namespace narrowgauge::ownership_test
