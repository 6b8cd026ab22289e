// SPDX-License-Identifier: Apache-2.0
#include "cli/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace narrowgauge::cli {
namespace {

// Below this a run counts as no faster: runs after one another differ by some percent anyway.
constexpr double worth_mentioning = 1.05;

std::string label(const std::string& amp) { return amp == "off" ? "f32" : amp; }

// The run that others are measured by: f32, or else the first.
const Outcome& base_of(const std::vector<Outcome>& outcomes) {
  const auto off = std::find_if(outcomes.begin(), outcomes.end(),
                                [](const Outcome& outcome) { return outcome.amp == "off"; });
  return off == outcomes.end() ? outcomes.front() : *off;
}

double speed_up(const Outcome& outcome, const Outcome& base) {
  return outcome.fit.samples_per_second / base.fit.samples_per_second;
}

// Two standard errors of the difference of two independent shares of `samples`.
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

// A run of one step has no rate: its only step compiled.
std::string speed_text(double times) {
  return std::isfinite(times) ? fmt::format("{:.2f}x", times) : "-";
}

std::string table(const std::vector<Outcome>& outcomes) {
  const Outcome& base = base_of(outcomes);
  TextTable table({"precision", "samples/s", "speed-up", "first loss", "final loss",
                   "test accuracy", "activations", "skipped"});
  for (const Outcome& outcome : outcomes)
    table.add({label(outcome.amp), rate_text(outcome.fit.samples_per_second),
               speed_text(speed_up(outcome, base)), fmt::format("{:.6f}", outcome.fit.first_loss),
               fmt::format("{:.4f}", outcome.fit.final_loss),
               percent_text(outcome.fit.test.accuracy), bytes_text(outcome.activation_bytes),
               std::to_string(outcome.fit.skipped_steps)});
  return table.text();
}

std::string accuracy_text(const Outcome& outcome, const Outcome& base) {
  return fmt::format(
      "{}: test accuracy {} points from {}'s; two standard errors of a difference on {} images are "
      "{:.2f}",
      label(outcome.amp), points_text(outcome.fit.test.accuracy - base.fit.test.accuracy),
      label(base.amp), grouped(outcome.fit.test.samples),
      100 * noise(outcome.fit.test, base.fit.test));
}

std::vector<std::string> remarks(const std::vector<Outcome>& outcomes) {
  std::vector<std::string> lines;
  const Outcome& base = base_of(outcomes);
  for (const Outcome& outcome : outcomes) {
    if (&outcome == &base) continue;
    lines.push_back(accuracy_text(outcome, base));
    if (outcome.amp != "off" && speed_up(outcome, base) < worth_mentioning)
      lines.push_back(fmt::format("{}: {}", label(outcome.amp), why_not_faster(outcome)));
    if (const std::string flush = flush_text(outcome); !flush.empty())
      lines.push_back(fmt::format("{}: {}", label(outcome.amp), flush));
  }
  return lines;
}

std::string compare_json(const std::vector<Outcome>& outcomes, std::string_view event) {
  const Outcome& base = base_of(outcomes);
  std::vector<JsonObject> runs;
  for (const Outcome& outcome : outcomes) {
    runs.push_back(outcome_json(outcome));
    runs.back().add("speed_up", speed_up(outcome, base));
  }
  JsonObject json;
  json.add("event", event).add("runs", runs).add("base", base.amp);
  json.add("largest_difference_points", 100 * largest_difference(outcomes));
  return json.add("remarks", remarks(outcomes)).line();
}

void print_comparison(const std::vector<Outcome>& outcomes) {
  print(table(outcomes));
  for (const std::string& line : remarks(outcomes)) print(line + '\n');
}

void check_tolerance(const TrainFlags& flags, const std::vector<Outcome>& outcomes) {
  const double points = 100 * largest_difference(outcomes);
  require<CheckError>(!flags.tolerance || points <= *flags.tolerance,
                      fmt::format("compare: accuracies differ by {:.2f} points, more than the {} "
                                  "that --tolerance allows",
                                  points, number_text(flags.tolerance.value_or(0))));
}

std::string folder_of(const TrainFlags& flags, const std::string& amp) {
  return (std::filesystem::path(*flags.output) / label(amp)).string();
}

// Formats in the place of "auto", none twice.
std::vector<std::string> settled(const std::vector<std::string>& formats, const Settings& settings,
                                 const ImageData& data) {
  std::vector<std::string> result;
  for (const std::string& amp : formats) {
    Settings one = settings;
    one.amp = amp;
    settle_auto(one, data);
    if (std::find(result.begin(), result.end(), one.amp) == result.end()) result.push_back(one.amp);
  }
  return result;
}

Outcome train_one(const TrainFlags& flags, Settings settings, const ImageData& data,
                  ReportStyle style) {
  if (settings.amp == "off") settings.overrides.clear();
  Session session(settings, data, {.trace = flags.trace.has_value(), .profile = true});
  if (flags.weights) session.model().load(*flags.weights);
  std::optional<std::string> folder;
  if (flags.output) folder = folder_of(flags, settings.amp);
  try {
    return train(session, data, style, folder);
  } catch (const DivergedError& error) {
    throw DivergedError(concat(label(settings.amp), ": ", error.what()));
  }
}

// What `compare` ends with: results of the formats that were trained, and how it came to an end.
int finish(const TrainFlags& flags, const std::vector<Outcome>& outcomes, std::string_view event) {
  const bool done = event == "done";
  if (flags.json)
    print(compare_json(outcomes, event));
  else if (event != "interrupted")
    print_comparison(outcomes);
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
    widened += kernel.implementation.find("widened") != std::string::npos;
  }
  if (widened > 0)
    return fmt::format(
        "no {} unit on this CPU that is used: {} of {} contractions are widened to f32, which "
        "costs conversions and saves memory only",
        narrow.amp, widened, contractions);
  return fmt::format(
      "its {} contractions use the CPU's {} unit, but they are {} of a step of this network; the "
      "rest is bound by memory",
      contractions, narrow.amp, percent_text(all > 0 ? inside / all : 0));
}

int run_compare(const TrainFlags& flags, const Settings& settings, ReportStyle style) {
  if (flags.output)
    for (const std::string& amp : flags.compare)
      if (amp != "auto") require_writable(folder_of(flags, amp), settings);
  const ImageData data = prepare_data(settings.data, settings.model);
  std::vector<Outcome> outcomes;
  for (const std::string& amp : settled(flags.compare, settings, data)) {
    Settings one = settings;
    one.amp = amp;
    try {
      outcomes.push_back(train_one(flags, one, data, style));
    } catch (const DivergedError&) {
      if (!outcomes.empty()) finish(flags, outcomes, "diverged");
      throw;
    }
    if (!outcomes.back().fit.stopped) continue;
    say("interrupted", fmt::format("stopped in {}", label(amp)));
    finish(flags, outcomes, "interrupted");
    return ExitCode::interrupted;
  }
  return finish(flags, outcomes, "done");
}

}  // namespace narrowgauge::cli
