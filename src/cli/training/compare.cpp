// SPDX-License-Identifier: Apache-2.0
#include "cli/training/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "cli/common/exit_code.h"
#include "cli/common/interrupt.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"
#include "cli/progress/watch.h"
#include "cli/task/number_task.h"

namespace narrowgauge::cli {
namespace {

// A smaller ratio counts as no faster: runs one after another differ by some percent anyway.
constexpr double worth_mentioning = 1.05;

// A run of one step has no rate: that step compiled.
std::string speed_text(double times) {
  if (!std::isfinite(times)) return "-";
  return times < 1000 ? fmt::format("{:.2f}x", times) : fmt::format("{:.1e}x", times);
}

std::string loss_text(double loss, int digits) {
  if (std::isnan(loss)) return "-";
  return loss < 1000 ? fmt::format("{:.{}f}", loss, digits) : fmt::format("{:.3e}", loss);
}

double largest_difference_of_losses(const std::vector<TrainingOutcome>& outcomes) {
  const double base = base_of(outcomes).fit.test.loss;
  double largest = 0;
  for (const TrainingOutcome& outcome : outcomes)
    largest = std::max(largest, std::abs(outcome.fit.test.loss - base));
  return largest;
}

std::string difference_text(const TrainingOutcome& outcome, const TrainingOutcome& base,
                            const ResultWords& told) {
  if (!told.have_accuracy(base.fit.test))
    return fmt::format("{}: test loss {:+.4f}{} from {}'s", outcome.precision,
                       outcome.fit.test.loss - base.fit.test.loss, told.loss_unit(),
                       base.precision);
  return fmt::format("{}: test accuracy {} points from {}'s (two standard errors: {:.2f})",
                     outcome.precision,
                     points_text(outcome.fit.test.accuracy - base.fit.test.accuracy),
                     base.precision, 100 * accuracy_noise(outcome.fit.test, base.fit.test));
}

std::string compare_json(const std::vector<TrainingOutcome>& outcomes, std::string_view event,
                         const ResultWords& words) {
  const TrainingOutcome& base = base_of(outcomes);
  std::vector<JsonObject> runs;
  for (const TrainingOutcome& outcome : outcomes) {
    runs.push_back(outcome_json(outcome, words));
    runs.back().add("speed_up", speed_up(outcome, base));
  }
  JsonObject json;
  json.add("event", event)
      .add("runs", runs)
      .add("base", base.precision == "ieee" ? base.precision : name(amp_of(base)));
  json.add("largest_difference_points", 100 * largest_difference(outcomes));
  if (words.is_text) json.add("largest_difference_nats", largest_difference_of_losses(outcomes));
  return json.add("remarks", comparison_remarks(outcomes, words)).line();
}

std::vector<TrainingOutcome> whole_runs(std::vector<TrainingOutcome> outcomes) {
  std::erase_if(outcomes, [](const TrainingOutcome& outcome) { return outcome.fit.stopped; });
  return outcomes;
}

void print_comparison(const std::vector<TrainingOutcome>& outcomes, const ResultWords& words) {
  if (outcomes.empty()) return;
  print(comparison_table(outcomes, words));
  for (const std::string& line : comparison_remarks(outcomes, words)) print_text(line + '\n');
}

void check_tolerance(const TrainFlags& flags, const std::vector<TrainingOutcome>& outcomes,
                     const ResultWords& words) {
  if (!words.have_accuracy(base_of(outcomes).fit.test)) {
    const double difference = largest_difference_of_losses(outcomes);
    require<CheckError>(
        !flags.tolerance || difference <= *flags.tolerance,
        fmt::format("compare: test losses differ by {:.4f}{}, more than the {} "
                    "that --tolerance allows",
                    difference, words.loss_unit(), number_text(flags.tolerance.value_or(0))));
    return;
  }
  const double points = 100 * largest_difference(outcomes);
  require<CheckError>(!flags.tolerance || points <= *flags.tolerance,
                      fmt::format("compare: accuracies differ by {:.2f} points, more than the {} "
                                  "that --tolerance allows",
                                  points, number_text(flags.tolerance.value_or(0))));
}

using Folders = std::map<std::string, CheckpointOptions>;  // by their paths

std::string folder_of(const TrainFlags& flags, const Settings& settings) {
  return (std::filesystem::path(*flags.output) / name_of(settings.precision)).string();
}

// The settings for one of the words of --compare.
Settings settings_in(Settings settings, const std::string& format) {
  const bool ieee = format == "ieee";
  settings.precision.set_amp(ieee ? Amp{} : amp_of(format));
  if (ieee) settings.precision.f32_math = Math::ieee;
  return settings;
}

// The settings of each format, none twice, with a measured format in place of "auto".
std::vector<Settings> settled(const std::vector<std::string>& formats, const Settings& settings,
                              const Task& task) {
  std::vector<Settings> result;
  for (const std::string& format : formats) {
    Settings one = settings_in(settings, format);
    settle_auto(one, task);
    keep_numbers_wide(one.precision, task);
    if (std::find(result.begin(), result.end(), one) == result.end()) result.push_back(one);
  }
  return result;
}

// The cases of the settled formats, with the folders of their checkpoints, locked.
std::vector<CompareCase> cases_of(const TrainFlags& flags, const std::vector<Settings>& all,
                                  const Task& task, const Folders& folders) {
  std::vector<CompareCase> cases;
  for (const Settings& settings : all) {
    check_batch(settings, task);
    CheckpointOptions checkpoints;
    if (flags.output) checkpoints = folders.at(folder_of(flags, settings));
    keep_record(checkpoints, settings, task);
    cases.push_back({name_of(settings.precision),
                     make_optimizer(settings, task.training_size / settings.batch),
                     trainer_options(settings, {.recompute = recompute_of(flags),
                                                .trace = flags.trace.has_value(),
                                                .metrics = settings.metrics}),
                     fit_options(settings, std::move(checkpoints))});
  }
  return cases;
}

Comparison train_all(const TrainFlags& flags, const Settings& settings, const Task& task,
                     std::vector<CompareCase> cases) {
  std::unique_ptr<Reporter> reporter;
  std::optional<RunLog> log;
  CompareWatch watch;
  watch.begin = [&](const CompareCase& each, Model& model) {
    reporter.reset();
    take_weights(model, flags);
    reporter = make_reporter(style_of(flags), each.precision, each.fit.batch, words_of(task));
    log.emplace(log_options(flags.watch, each.fit.checkpoints.folder, each.precision),
                each.fit.checkpoints, /*goes_on=*/false);
  };
  watch.progress = [&](const CompareCase&, const Progress& progress) {
    reporter->update(progress);
    log->add(progress);
    return !interrupted();
  };
  const InterruptScope interrupts;
  return compare({.name = settings.model,
                  .build = task.build,
                  .loss = task.loss,
                  .seed = static_cast<std::uint64_t>(settings.seed),
                  .training = task.training,
                  .test = task.test,
                  .cases = std::move(cases)},
                 watch);
}

// Ends `compare`: prints the results of the trained formats and how it came to an end.
int finish_comparison(const TrainFlags& flags, const std::vector<TrainingOutcome>& outcomes,
                      std::string_view event, const ResultWords& words) {
  const bool done = event == "done";
  if (flags.json)
    print(compare_json(outcomes, event, words));
  else
    print_comparison(whole_runs(outcomes), words);
  if (done) check_tolerance(flags, outcomes, words);
  return ExitCode::ok;
}

}  // namespace

std::string why_not_faster(const TrainingOutcome& narrow) {
  const ContractionUse use = contraction_use(narrow.kernels);
  if (use.count > 0 && use.widened == use.count)
    return "its contractions are widened to f32 on this CPU: it saves memory, not time";
  if (use.widened > 0)
    return fmt::format("{} of {} contractions are widened to f32: it saves memory, not time",
                       use.widened, use.count);
  return fmt::format("its contractions are {:.0f} % of a step here; the rest is bound by memory",
                     100 * use.share);
}

std::string comparison_table(const std::vector<TrainingOutcome>& outcomes,
                             const ResultWords& told) {
  const TrainingOutcome& base = base_of(outcomes);
  const auto judged = [&](const Evaluation& test) {
    return told.have_accuracy(test) ? percent_text(test.accuracy) : loss_text(test.loss, 4);
  };
  TextTable table({words("precision"), numbers(told.rate_name()), numbers("speed-up"),
                   numbers("first loss", 2), numbers("final loss", 1),
                   numbers(told.have_accuracy(base.fit.test) ? "accuracy" : "test loss"),
                   numbers("activations", 1)});
  for (const TrainingOutcome& outcome : outcomes)
    table.add({outcome.precision, rate_text(told.rate(outcome.fit.samples_per_second)),
               speed_text(speed_up(outcome, base)), loss_text(outcome.fit.first_loss, 6),
               loss_text(outcome.fit.final_loss, 4), judged(outcome.fit.test),
               bytes_text(outcome.activation_bytes)});
  return table.text(output_width());
}

std::vector<std::string> comparison_remarks(const std::vector<TrainingOutcome>& outcomes,
                                            const ResultWords& told) {
  std::vector<std::string> lines;
  const TrainingOutcome& base = base_of(outcomes);
  for (const TrainingOutcome& outcome : outcomes) {
    const auto say_of = [&](const std::string& text) {
      lines.push_back(concat(outcome.precision, ": ", text));
    };
    if (&outcome != &base) lines.push_back(difference_text(outcome, base, told));
    if (outcome.narrow && &outcome != &base && speed_up(outcome, base) < worth_mentioning)
      say_of(why_not_faster(outcome));
    if (outcome.fit.skipped_steps > 0)
      say_of(fmt::format("{} of {} steps were skipped, since gradients overflowed",
                         grouped(outcome.fit.skipped_steps), grouped(outcome.fit.steps)));
    if (const std::string flush = flush_text(outcome); !flush.empty()) say_of(flush);
  }
  return lines;
}

int run_compare(const TrainFlags& flags, Settings settings) {
  const auto& formats = flags.compare;
  const auto named = [&](const char* format) {
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  };
  require(settings.precision.f32_math != Math::ieee || !named("ieee") || !named("off"),
          "--compare: with --math ieee, off is ieee; name one of them");
  Folders folders;
  const auto take = [&](const Settings& one) {
    if (flags.output && !folders.contains(folder_of(flags, one)))
      folders[folder_of(flags, one)] = checkpoints_in(folder_of(flags, one), flags, one);
  };
  for (const std::string& format : formats)
    if (format != "auto") take(settings_in(settings, format));
  const Task task = prepare_training(settings);
  fit_batch(settings, task, flags);
  const std::vector<Settings> all = settled(formats, settings, task);
  for (const Settings& one : all) take(one);
  const Comparison comparison =
      train_all(flags, settings, task, cases_of(flags, all, task, folders));
  const std::vector<TrainingOutcome>& runs = comparison.runs;
  const ResultWords words = words_of(task);
  if (!comparison.diverged.empty()) {
    if (!runs.empty()) finish_comparison(flags, runs, "diverged", words);
    throw DivergedError(comparison.diverged);
  }
  if (!comparison.stopped) return finish_comparison(flags, runs, "done", words);
  finish_comparison(flags, runs, "interrupted", words);
  say("interrupted", fmt::format("stopped in {} after {} steps", runs.back().precision,
                                 grouped(runs.back().fit.steps)));
  return interrupted_code();
}

}  // namespace narrowgauge::cli
