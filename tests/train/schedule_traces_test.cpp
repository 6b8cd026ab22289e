// SPDX-License-Identifier: Apache-2.0
// Learning rates, and the factor that follows a metric, against those that PyTorch gives
// (traces/schedules.txt, traces/plateau.txt).
#include <cmath>

#include "train/plateau.h"
#include "train/rate.h"
#include "train/traces/read.h"

namespace narrowgauge::schedule_traces_test {
namespace {

// Takes a setting out of those of a case, if it is there.
void take(std::map<std::string, double>& settings, const char* name, auto& target) {
  const auto found = settings.find(name);
  if (found == settings.end()) return;
  target = static_cast<std::remove_reference_t<decltype(target)>>(found->second);
  settings.erase(found);
}

TEST(schedules, are_those_of_pytorch) {
  std::map<std::string, int> counted;
  for (const traces::Case& trace : traces::read("schedules.txt", 1)) {
    SCOPED_TRACE(trace.title);
    ++counted[trace.name];
    Optimizer optimizer = sgd(0.1);
    Schedule& schedule = optimizer.schedule;
    schedule.name = trace.name;
    std::map<std::string, double> settings = trace.settings;
    take(settings, "warmup_steps", schedule.warmup_steps);
    take(settings, "total_steps", schedule.total_steps);
    take(settings, "step_every", schedule.step_every);
    take(settings, "factor", schedule.factor);
    take(settings, "minimum", schedule.minimum);
    take(settings, "power", schedule.power);
    take(settings, "rising_share", schedule.rising_share);
    take(settings, "start", schedule.start);
    take(settings, "cycle_growth", schedule.cycle_growth);
    EXPECT_TRUE(settings.empty());
    EXPECT_NO_THROW(check(optimizer));
    const LearningRate rate = learning_rate_of(optimizer);
    const std::vector<double>& expected = trace.numbers.at("rates");
    for (std::size_t step = 0; step < expected.size(); ++step)
      EXPECT_NEAR(rate.at(static_cast<std::int64_t>(step)), expected[step],
                  1e-9 * expected[step] + 1e-16)
          << step;
  }
  for (const std::string& name : schedule_names()) EXPECT_GE(counted[name], 1) << name;
}

TEST(schedules, refuse_numbers_that_make_no_sense) {
  const auto refuses = [](const Schedule& schedule) {
    Optimizer optimizer = sgd(0.1);
    optimizer.schedule = schedule;
    EXPECT_THROW(check(optimizer), UsageError) << schedule.name;
  };
  refuses({.name = "linear"});
  refuses({.name = "polynomial", .total_steps = 9, .power = 0});
  refuses({.name = "one_cycle", .warmup_steps = 2, .total_steps = 9});
  refuses({.name = "one_cycle", .total_steps = 9, .rising_share = 1});
  refuses({.name = "one_cycle", .total_steps = 9, .start = 1.5});
  refuses({.name = "inverse_square_root"});
  refuses({.name = "cosine_restarts", .step_every = 3, .cycle_growth = 0});
  refuses({.plateau = PlateauSettings{.factor = 1}});
}

TEST(plateau, gives_the_factors_of_ReduceLROnPlateau) {
  for (const traces::Case& trace : traces::read("plateau.txt", 2)) {
    SCOPED_TRACE(trace.title);
    std::map<std::string, double> settings = trace.settings;
    PlateauSettings plateau;
    take(settings, "max", plateau.mode);
    take(settings, "factor", plateau.factor);
    take(settings, "patience", plateau.patience);
    take(settings, "threshold", plateau.threshold);
    take(settings, "absolute", plateau.threshold_kind);
    take(settings, "cooldown", plateau.cooldown);
    take(settings, "minimum", plateau.minimum);
    EXPECT_TRUE(settings.empty());
    Plateau whole(plateau), resumed(plateau);
    const std::vector<double>&values = trace.numbers.at("values"),
          &factors = trace.numbers.at("factors");
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_NEAR(whole.next(values[i]), factors[i], 1e-12) << i;
      resumed = Plateau(plateau, resumed.state());
      resumed.next(values[i]);
      EXPECT_EQ(resumed.state(), whole.state()) << i;
    }
    EXPECT_LT(whole.state().factor, 1);
  }
}

TEST(plateau, refuses_settings_that_make_no_sense) {
  for (const PlateauSettings& settings :
       {PlateauSettings{.factor = 0}, PlateauSettings{.factor = 1}, PlateauSettings{.patience = -1},
        PlateauSettings{.threshold = -0.1}, PlateauSettings{.threshold = NAN},
        PlateauSettings{.cooldown = -1}, PlateauSettings{.minimum = 2}})
    EXPECT_THROW(Plateau{settings}, UsageError);
}

}  // namespace
}  // namespace narrowgauge::schedule_traces_test
