// SPDX-License-Identifier: Apache-2.0
#include "cli/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "cli/common/exit_code.h"
#include "cli/common/terminal.h"
#include "cli/common/text.h"

namespace narrowgauge::cli {
namespace {

// A smaller ratio counts as no faster: runs one after another differ by some percent anyway.
constexpr double worth_mentioning = 1.05;

// The run that others are compared with: IEEE's f32, else the other f32, else the first.
const Outcome& base_of(const std::vector<Outcome>& outcomes) {
  for (const char* precision : {"ieee", "f32"})
    for (const Outcome& outcome : outcomes)
      if (outcome.precision == precision) return outcome;
  return outcomes.front();
}

double speed_up(const Outcome& outcome, const Outcome& base) {
  return outcome.fit.samples_per_second / base.fit.samples_per_second;
}

// Two standard errors of the difference between two independent shares of `samples`.
double noise(const Evaluation& a, const Evaluation& b) {
  const auto variance = [](const Evaluation& e) { return e.accuracy * (1 - e.accuracy); };
  return 2 * std::sqrt((variance(a) + variance(b)) /
                       static_cast<double>(std::max<std::int64_t>(a.samples, 1)));
}

double largest_difference(const std::vector<Outcome>& outcomes) {
  double largest = 0;
  for (const Outcome& outcome : outcomes)
    largest = std::max(largest,
                       std::abs(outcome.fit.test.accuracy - base_of(outcomes).fit.test.accuracy));
  return largest;
}

// A run of one step has no rate: that step compiled.
std::string speed_text(double times) {
  if (!std::isfinite(times)) return "-";
  return times < 1000 ? fmt::format("{:.2f}x", times) : fmt::format("{:.1e}x", times);
}

std::string loss_text(double loss, int digits) {
  if (std::isnan(loss)) return "-";
  return loss < 1000 ? fmt::format("{:.{}f}", loss, digits) : fmt::format("{:.3e}", loss);
}

std::string accuracy_text(const Outcome& outcome, const Outcome& base) {
  return fmt::format("{}: test accuracy {} points from {}'s (two standard errors: {:.2f})",
                     outcome.precision,
                     points_text(outcome.fit.test.accuracy - base.fit.test.accuracy),
                     base.precision, 100 * noise(outcome.fit.test, base.fit.test));
}

std::string compare_json(const std::vector<Outcome>& outcomes, std::string_view event) {
  const Outcome& base = base_of(outcomes);
  std::vector<JsonObject> runs;
  for (const Outcome& outcome : outcomes) {
    runs.push_back(outcome_json(outcome));
    runs.back().add("speed_up", speed_up(outcome, base));
  }
  JsonObject json;
  json.add("event", event)
      .add("runs", runs)
      .add("base", base.precision == "ieee" ? base.precision : base.amp);
  json.add("largest_difference_points", 100 * largest_difference(outcomes));
  return json.add("remarks", comparison_remarks(outcomes)).line();
}

std::vector<Outcome> whole_runs(std::vector<Outcome> outcomes) {
  std::erase_if(outcomes, [](const Outcome& outcome) { return outcome.fit.stopped; });
  return outcomes;
}

void print_comparison(const std::vector<Outcome>& outcomes) {
  if (outcomes.empty()) return;
  print(comparison_table(outcomes));
  for (const std::string& line : comparison_remarks(outcomes)) print_text(line + '\n');
}

void check_tolerance(const TrainFlags& flags, const std::vector<Outcome>& outcomes) {
  const double points = 100 * largest_difference(outcomes);
  require<CheckError>(!flags.tolerance || points <= *flags.tolerance,
                      fmt::format("compare: accuracies differ by {:.2f} points, more than the {} "
                                  "that --tolerance allows",
                                  points, number_text(flags.tolerance.value_or(0))));
}

std::string folder_of(const TrainFlags& flags, const Settings& settings) {
  return (std::filesystem::path(*flags.output) / precision_of(settings)).string();
}

// The settings for one of the words of --compare.
Settings settings_in(Settings settings, const std::string& format) {
  settings.amp = format == "ieee" ? "off" : format;
  if (format == "ieee") settings.math = "ieee";
  return settings;
}

// The settings of each format, none twice, with a measured format in place of "auto".
std::vector<Settings> settled(const std::vector<std::string>& formats, const Settings& settings,
                              const ImageData& data) {
  std::vector<Settings> result;
  for (const std::string& format : formats) {
    Settings one = settings_in(settings, format);
    settle_auto(one, data);
    if (std::find(result.begin(), result.end(), one) == result.end()) result.push_back(one);
  }
  return result;
}

Outcome train_one(const TrainFlags& flags, Settings settings, const ImageData& data,
                  CheckpointOptions checkpoints) {
  const ReportStyle style = style_of(flags);
  if (settings.amp == "off") settings.overrides.clear();
  Session session(settings, data, {.trace = flags.trace.has_value(), .profile = true});
  take_weights(session, flags);
  try {
    return train(session, data, style, std::move(checkpoints));
  } catch (const DivergedError& error) {
    throw DivergedError(concat(precision_of(settings), ": ", error.what()));
  }
}

// Ends `compare`: prints the results of the trained formats and how it came to an end.
int finish(const TrainFlags& flags, const std::vector<Outcome>& outcomes, std::string_view event) {
  const bool done = event == "done";
  if (flags.json)
    print(compare_json(outcomes, event));
  else
    print_comparison(whole_runs(outcomes));
  if (done) check_tolerance(flags, outcomes);
  return ExitCode::ok;
}

}  // namespace

std::string why_not_faster(const Outcome& narrow) {
  int contractions = 0, widened = 0;
  double inside = 0, all = 0;
  for (const Trainer::KernelChoice& kernel : narrow.kernels) {
    all += kernel.milliseconds;
    if (kernel.flops <= 0) continue;
    inside += kernel.milliseconds;
    ++contractions;
    widened += kernel.facts.widened;
  }
  if (contractions > 0 && widened == contractions)
    return "its contractions are widened to f32 on this CPU: it saves memory, not time";
  if (widened > 0)
    return fmt::format("{} of {} contractions are widened to f32: it saves memory, not time",
                       widened, contractions);
  return fmt::format("its contractions are {:.0f} % of a step here; the rest is bound by memory",
                     all > 0 ? 100 * inside / all : 0);
}

std::string comparison_table(const std::vector<Outcome>& outcomes) {
  const Outcome& base = base_of(outcomes);
  TextTable table({words("precision"), numbers("samples/s"), numbers("speed-up"),
                   numbers("first loss", 2), numbers("final loss", 1), numbers("accuracy"),
                   numbers("activations", 1)});
  for (const Outcome& outcome : outcomes)
    table.add({outcome.precision, rate_text(outcome.fit.samples_per_second),
               speed_text(speed_up(outcome, base)), loss_text(outcome.fit.first_loss, 6),
               loss_text(outcome.fit.final_loss, 4), percent_text(outcome.fit.test.accuracy),
               bytes_text(outcome.activation_bytes)});
  return table.text(output_width());
}

std::vector<std::string> comparison_remarks(const std::vector<Outcome>& outcomes) {
  std::vector<std::string> lines;
  const Outcome& base = base_of(outcomes);
  for (const Outcome& outcome : outcomes) {
    const auto say_of = [&](const std::string& text) {
      lines.push_back(concat(outcome.precision, ": ", text));
    };
    if (&outcome != &base) lines.push_back(accuracy_text(outcome, base));
    if (outcome.amp != "off" && &outcome != &base && speed_up(outcome, base) < worth_mentioning)
      say_of(why_not_faster(outcome));
    if (outcome.fit.skipped_steps > 0)
      say_of(fmt::format("{} of {} steps were skipped, since gradients overflowed",
                         grouped(outcome.fit.skipped_steps), grouped(outcome.fit.steps)));
    if (const std::string flush = flush_text(outcome); !flush.empty()) say_of(flush);
  }
  return lines;
}

int run_compare(const TrainFlags& flags, const Settings& settings) {
  const auto& formats = flags.compare;
  const auto named = [&](const char* format) {
    return std::find(formats.begin(), formats.end(), format) != formats.end();
  };
  require(settings.math != "ieee" || !named("ieee") || !named("off"),
          "--compare: with --math ieee, off is ieee; name one of them");
  std::map<std::string, CheckpointOptions> checkpoints;
  const auto take = [&](const Settings& one) {
    if (flags.output && !checkpoints.contains(folder_of(flags, one)))
      checkpoints[folder_of(flags, one)] = checkpoints_in(folder_of(flags, one), flags, one);
  };
  for (const std::string& format : formats)
    if (format != "auto") take(settings_in(settings, format));
  const ImageData data = prepare_data(settings.data, settings.model);
  std::vector<Outcome> outcomes;
  for (const Settings& one : settled(formats, settings, data)) {
    try {
      take(one);
      outcomes.push_back(
          train_one(flags, one, data,
                    flags.output ? checkpoints.at(folder_of(flags, one)) : CheckpointOptions{}));
    } catch (const DivergedError&) {
      if (!outcomes.empty()) finish(flags, outcomes, "diverged");
      throw;
    }
    if (!outcomes.back().fit.stopped) continue;
    finish(flags, outcomes, "interrupted");
    say("interrupted", fmt::format("stopped in {} after {} steps", outcomes.back().precision,
                                   grouped(outcomes.back().fit.steps)));
    return ExitCode::interrupted;
  }
  return finish(flags, outcomes, "done");
}

}  // namespace narrowgauge::cli
